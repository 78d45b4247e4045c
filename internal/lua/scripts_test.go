package lua

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// users are folders whose scripts are declared in a keyspace: the linter checks these.
var users = []string{"examples", "bench", "node_modules", "everykeys", ".git"}

// packages returns the folders of the project that have scripts, with the parts apart.
func packages(t *testing.T) (out []string) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(users, d.Name()):
			return fs.SkipDir
		case strings.HasSuffix(path, ".lua") && !strings.Contains(path, "internal/lua/parts") &&
			!strings.Contains(path, "entity/testdata") && !slices.Contains(out, filepath.Dir(path)):
			out = append(out, filepath.Dir(path))
		}
		return nil
	})
	if err != nil || len(out) < 12 {
		t.Fatalf("%d folders have scripts: %v", len(out), err)
	}
	return out
}

// TestScripts: each script of the project is made of parts that there are, says in its
// header what it takes, returns and costs, and uses exactly that.
func TestScripts(t *testing.T) {
	included := map[string]bool{}
	scripts := 0
	for _, folder := range packages(t) {
		s := New(os.DirFS(folder))
		for _, name := range s.names() {
			text, err := fs.ReadFile(s.files, name+".lua")
			if err != nil {
				continue // a shared part
			}
			file := filepath.Join(folder, name+".lua")
			header, _, err := Parse(name, string(text))
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if header.Part {
				continue
			}
			scripts++
			pieces, _, err := s.Pieces(name, nil)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			var all strings.Builder
			for _, p := range pieces {
				included[p.File] = true
				all.WriteString(p.Text)
			}
			for _, fault := range faults(header, all.String()) {
				t.Errorf("%s: %s", file, fault)
			}
			if size, before := len(s.Script(name)), all.Len(); size > before {
				t.Errorf("%s: %d bytes of %d", file, size, before)
			}
		}
		for _, name := range s.names() {
			if _, err := fs.Stat(s.files, name+".lua"); err == nil && !included[name+".lua"] {
				t.Errorf("no script includes the part %s of %s", name, folder)
			}
		}
		clear(included)
	}
	if scripts < 70 {
		t.Errorf("only %d scripts were looked at", scripts)
	}
}

var (
	word    = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*|\d+(?:\.\d+)?(?:e\d+)?|\.\.\.|\.\.|[=~<>]=|\S`)
	literal = regexp.MustCompile(`^\d+$`)
)

// tokens returns the words of a program; a string is one word, two quotes.
func tokens(text string) []string {
	var plain strings.Builder
	for text != "" {
		n, instead := 1, text[:1]
		switch {
		case text[0] == '\'' || text[0] == '"':
			n, instead = quotedLength(text), " '' "
		case text[0] == '[' && long(text) > 0:
			n, instead = long(text), " '' "
		}
		plain.WriteString(instead)
		text = text[n:]
	}
	return word.FindAllString(strings.ReplaceAll(plain.String(), "''", "ⓢ"), -1)
}

// slot is the name of a key that only says which server is asked.
const slot = "slot"

// faults returns what a program does with keys and arguments that its header does not say,
// the reverse, and the names that are not defined.
func faults(h Header, text string) (out []string) {
	if strings.HasPrefix(text, "#!") {
		_, text, _ = strings.Cut(text, "\n")
	}
	program := tokens(strip(text))
	out = append(out, used("KEYS", h.Keys, false, program)...)
	out = append(out, used("ARGV", h.Args, h.Named(), program)...)
	return append(out, unknown(program)...)
}

func used(list string, p Params, named bool, program []string) (out []string) {
	byNumber, others := map[int]bool{}, false
	for i, w := range program {
		if w != list {
			continue
		}
		if named && i > 3 && program[i-1] == "(" && program[i-2] == "unpack" && program[i+1] == "," && program[i+2] == "1" {
			continue // the line that gives them their names
		}
		if i+3 < len(program) && program[i+1] == "[" && literal.MatchString(program[i+2]) && program[i+3] == "]" {
			n, _ := strconv.Atoi(program[i+2])
			byNumber[n] = true
			continue
		}
		others = true
	}
	names := p.names()
	for i, name := range names {
		switch {
		case named && byNumber[i+1]:
			out = append(out, list+"["+strconv.Itoa(i+1)+"] has the name "+name+", which is to be used")
		case named && times(program, name) < 2:
			out = append(out, "the argument "+name+" is not used")
		case !named && !byNumber[i+1] && !others && name != slot:
			out = append(out, list+"["+strconv.Itoa(i+1)+"] is not used")
		}
	}
	for n := range byNumber {
		if n > len(names) && p.Rest == nil {
			out = append(out, list+"["+strconv.Itoa(n)+"] is not in the header")
		}
	}
	if p.Rest != nil && !others {
		out = append(out, list+" from "+strconv.Itoa(len(names)+1)+" on are not used")
	}
	return out
}

func times(program []string, name string) (n int) {
	for i, w := range program {
		if w == name && (i == 0 || program[i-1] != "." && program[i-1] != ":") {
			n++
		}
	}
	return n
}

var globals = strings.Fields(
	`redis string math table cjson cmsgpack bit struct os KEYS ARGV tonumber tostring type pcall
	error unpack ipairs pairs next select and break do else elseif end false for function if in local nil not or repeat
	return then true until while`)

// unknown returns names that no line of a program declares.
func unknown(program []string) (out []string) {
	known := map[string]bool{}
	for _, g := range globals {
		known[g] = true
	}
	name := regexp.MustCompile(`^[A-Za-z_]`)
	for i := 0; i < len(program); i++ {
		switch program[i] {
		case "local", "for":
			j := i + 1
			if program[j] == "function" {
				known[program[j+1]] = true
				continue
			}
			for ; name.MatchString(program[j]); j += 2 {
				known[program[j]] = true
				if program[j+1] != "," {
					break
				}
			}
		case "function":
			j := i + 1
			if program[j] != "(" {
				j++
			}
			for ; program[j] != ")"; j++ {
				known[program[j]] = true
			}
		}
	}
	var braces []string
	for i, w := range program {
		switch w {
		case "{", "(":
			braces = append(braces, w)
		case "}", ")":
			braces = braces[:len(braces)-1]
		}
		field := len(braces) > 0 && braces[len(braces)-1] == "{" && i+1 < len(program) && program[i+1] == "="
		member := i > 0 && (program[i-1] == "." || program[i-1] == ":")
		if name.MatchString(w) && !known[w] && !field && !member {
			known[w] = true
			out = append(out, "the name "+w+" is from nowhere")
		}
	}
	return out
}
