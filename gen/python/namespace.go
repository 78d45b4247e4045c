package python

import (
	"fmt"
	"strings"

	"github.com/keywright/keywright/gen/portable"
)

// inNamespace writes the class that has everything in another namespace.
func (m *module) inNamespace() string {
	if m.space == nil {
		return ""
	}
	var b strings.Builder
	check := "True"
	if allowed := portable.Allowed(m.space); allowed != nil {
		check = fmt.Sprintf("name == %s or len(name) in %s.ends(name.encode(\"ascii\"), 0)", quote(m.space.Default),
			m.matcher(allowed))
	}
	b.WriteString(
		"\n\nclass InNamespace:\n    \"\"\"Everything in another namespace: one per environment or tenant.\n\n    Raises a " +
			"KeyValueError for a name that the declaration does not allow.\n    \"\"\"\n\n    def __init__(self, name: " +
			"str) -> None:\n")
	fmt.Fprintf(&b,
		"        if not _re.fullmatch(\"[A-Za-z0-9_-]{1,64}\", name) or not (%s):\n            raise "+
			"KeyValueError(\"namespace\", \"namespace\", \"is no name that the declaration allows\")\n", check)
	for _, list := range [][][2]string{m.keys, m.channels} {
		for _, row := range list {
			fmt.Fprintf(&b, "        self.%s = %s.in_namespace(name)\n", row[1], row[1])
		}
	}
	return b.String()
}
