package stored

import (
	"strconv"
)

// Settlement describes what has become of a job that was worked on.
type Settlement struct {
	Verb  string // "done", "retry", "later", "dead", "back"
	ID    string
	Token string
	Text  string // the result, or the reason
	MS    int64  // TTL of the result, or the wait before the next attempt
	Name  string // its unique name's key, "" for none
	Fatal error  // why the job is dead, if that is what becomes of it
}

// Bare reports whether it is a job that is done, without a result or a unique name.
func (s Settlement) Bare() bool { return s.Verb == "done" && s.Text == "" && s.Name == "" }

// SettlementArgs returns settlements as the script takes them: what is done and left
// nothing goes in groups, by token, of which it says how many there are.
func SettlementArgs(all []Settlement) (number string, args []string) {
	if len(all) == 0 {
		return "0", nil
	}
	var tokens []string
	groups := map[string][]string{}
	args = make([]string, 0, 6*len(all))
	for _, s := range all {
		if !s.Bare() {
			continue
		}
		if groups[s.Token] == nil {
			tokens = append(tokens, s.Token)
		}
		groups[s.Token] = append(groups[s.Token], s.ID)
	}
	for _, token := range tokens {
		args = append(append(args, token+" ", strconv.Itoa(len(groups[token]))), groups[token]...)
	}
	for _, s := range all {
		if !s.Bare() {
			args = append(args, s.Verb, s.ID, s.Token+" ", s.Text, strconv.FormatInt(s.MS, 10), s.Name)
		}
	}
	return strconv.Itoa(len(tokens)), args
}
