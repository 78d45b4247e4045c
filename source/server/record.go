package server

import "github.com/keywright/keywright/source/archive"

// Record is the content as a record of an archive. It is valid as long as the content.
func (c *Content) Record(entry int) archive.Record {
	r := archive.Record{Entry: entry, DB: c.DB, Key: c.Name, Expires: c.Expires, Kind: c.Kind, Form: archive.Dump, RDB: c.RDB, Part: c.Part, More: c.More, Payload: c.Payload}
	if c.Payload == nil {
		r.Form = archive.Elements
		for _, e := range c.Elements {
			r.Payload = archive.AppendText(r.Payload, e)
		}
	}
	return r
}
