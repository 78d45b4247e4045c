package archive

// RDB returns the newest RDB version of values that are as DUMP gave them, by the first one of each entry in each
// database: a server writes one version. 0: there is none.
func (a *Archive) RDB() (version int, err error) {
	for entry := Undeclared; entry < len(a.Meta.Entries); entry++ {
		for db := range a.Databases(entry) {
			own, err := a.firstRDB(entry, db)
			if err != nil {
				return 0, err
			}
			version = max(version, own)
		}
	}
	return version, nil
}

// firstRDB returns the RDB version of the first value of an entry in a database that has one; 0: none has.
func (a *Archive) firstRDB(entry, db int) (int, error) {
	for v, err := range a.Values(entry, db) {
		if err != nil {
			return 0, err
		}
		if v.Form == Dump {
			return v.RDB, nil
		}
	}
	return 0, nil
}
