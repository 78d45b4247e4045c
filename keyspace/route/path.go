package route

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of one path, file name or term; beyond them they are refused.
const (
	MaxBytes = 1024
	MaxSteps = 32
)

// ParsePath reads a path. The error is a *SyntaxError.
func ParsePath(text string) (Path, error) {
	var p Path
	if err := checkText(text, "a path"); err != nil {
		return p, err
	}
	if text == "" {
		return p, nil
	}
	if text[0] != '/' {
		return p, &SyntaxError{text, 0, 1, "a path begins with /", "/" + text}
	}
	offset := 1
	for _, part := range strings.Split(text[1:], "/") {
		s, err := parseStep(text, part, offset)
		if err != nil {
			return Path{}, err
		}
		if s.Kind != Member && s.Name != "" && slices.Contains(p.Captures(), s.Name) {
			return Path{},
				&SyntaxError{text, offset, len(part), "{" + s.Name + "} is captured twice", "give one of them another name"}
		}
		p.Steps = append(p.Steps, s)
		offset += len(part) + 1
	}
	if len(p.Steps) > MaxSteps {
		return Path{}, &SyntaxError{text, 0, len(text), "a path has at most 32 steps", ""}
	}
	return p, nil
}

// checkText refuses what no path, file name or term holds.
func checkText(text, what string) error {
	if len(text) > MaxBytes {
		return &SyntaxError{text, 0, len(text), what + " has at most 1024 bytes", ""}
	}
	if !utf8.ValidString(text) {
		return &SyntaxError{text, 0, len(text), what + " is UTF-8 text", ""}
	}
	for i, c := range text {
		if c < ' ' || c == 0x7f {
			return &SyntaxError{text, i, 1, what + " has no control characters", ""}
		}
	}
	return nil
}

func parseStep(text, part string, offset int) (Step, error) {
	fault := func(message, fix string) (Step, error) {
		return Step{}, &SyntaxError{text, offset, max(1, len(part)), message, fix}
	}
	switch {
	case part == "[]":
		return Step{Kind: Element}, nil
	case strings.HasPrefix(part, "{#") && strings.HasSuffix(part, "}"):
		name := part[2 : len(part)-1]
		if !isName(name) {
			return fault(quoted(name)+" is no name of a capture", "letters, digits and _, not beginning with a digit")
		}
		return Step{Place, name}, nil
	case strings.HasPrefix(part, "{") && strings.HasSuffix(part, "}"):
		name := part[1 : len(part)-1]
		if !isName(name) {
			return fault(quoted(name)+" is no name of a capture", "letters, digits and _, not beginning with a digit")
		}
		return Step{Capture, name}, nil
	case strings.ContainsAny(part, "{["):
		return fault("a step is a name, {capture}, {#place} or [] as a whole",
			"write ~2 for a literal { and ~3 for a literal [")
	}
	name, ok := unescape(part)
	if !ok {
		return fault("~ is followed by 0 (~), 1 (/), 2 ({) or 3 ([)", "write ~0 for a literal ~")
	}
	return Step{Member, name}, nil
}

func unescape(part string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(part); i++ {
		if part[i] != '~' {
			b.WriteByte(part[i])
			continue
		}
		if i++; i == len(part) || part[i] < '0' || part[i] > '3' {
			return "", false
		}
		b.WriteByte("~/{["[part[i]-'0'])
	}
	return b.String(), true
}

// isName reports whether a text is a name as placeholders have them.
func isName(name string) bool {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

func quoted(text string) string { return `"` + text + `"` }

// ParseFile reads the name of a source's files. The error is a *SyntaxError.
func ParseFile(text string) (File, error) {
	var f File
	fault := func(offset, length int, message, fix string) (File, error) {
		return File{}, &SyntaxError{text, offset, max(1, length), message, fix}
	}
	if err := checkText(text, "a file name"); err != nil {
		return f, err
	}
	if text == "" {
		return fault(0, 0, "a source has the name of a file", "as in app_state.json or guilds/{guild_id}.json")
	}
	for _, part := range strings.Split(text, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsRune(part, '\\') {
			return fault(0, len(text), "a file name is relative, slash-separated and stays in its folder",
				"without a leading /, without .. and \\")
		}
	}
	for rest, offset := text, 0; rest != ""; {
		open := strings.IndexByte(rest, '{')
		if open < 0 {
			open = len(rest)
		}
		if strings.IndexByte(rest[:open], '}') >= 0 {
			return fault(offset, open, "a } without a {", "")
		}
		if open > 0 {
			f.Parts = append(f.Parts, FilePart{Literal: rest[:open]})
		}
		if rest, offset = rest[open:], offset+open; rest == "" {
			break
		}
		end := strings.IndexByte(rest, '}')
		if end < 0 || !isName(rest[1:end]) {
			return fault(offset, len(rest), "a capture is {name}", "letters, digits and _, not beginning with a digit")
		}
		name := rest[1:end]
		if slices.Contains(f.Captures(), name) {
			return fault(offset, end+1, "{"+name+"} is captured twice", "give one of them another name")
		}
		if n := len(f.Parts); n > 0 && f.Parts[n-1].Name != "" {
			return fault(offset, end+1, "two captures side by side can be read in two ways", "put a literal between them")
		}
		f.Parts = append(f.Parts, FilePart{Name: name})
		rest, offset = rest[end+1:], offset+end+1
	}
	if len(f.Parts) > MaxSteps {
		return fault(0, len(text), "a file name has at most 32 parts", "")
	}
	return f, nil
}

// Match reads the captures of a file's name. The first capture takes as little as
// it can.
func (f File) Match(name string) (captures []string, ok bool) {
	for i, p := range f.Parts {
		if p.Name == "" {
			if name, ok = strings.CutPrefix(name, p.Literal); !ok {
				return nil, false
			}
			continue
		}
		end := len(name)
		if i+1 < len(f.Parts) && i+2 < len(f.Parts) {
			end = strings.Index(name[min(1, len(name)):], f.Parts[i+1].Literal) + 1
		} else if i+1 < len(f.Parts) {
			end = len(name) - len(f.Parts[i+1].Literal)
		}
		if end < 1 || strings.IndexByte(name[:end], '/') >= 0 {
			return nil, false
		}
		captures, name = append(captures, name[:end]), name[end:]
	}
	return captures, name == ""
}

// Build returns the file name with these captures. fault says why no file has it, "" if one may: Match gives the
// captures back, and NameFault finds nothing.
func (f File) Build(captures map[string]string) (name, fault string) {
	var b strings.Builder
	var values []string
	for _, p := range f.Parts {
		if p.Name == "" {
			b.WriteString(p.Literal)
			continue
		}
		switch value := captures[p.Name]; {
		case value == "":
			fault = "{" + p.Name + "} is empty"
		case strings.Contains(value, "/"):
			fault = "{" + p.Name + "} has a /"
		}
		b.WriteString(captures[p.Name])
		values = append(values, captures[p.Name])
	}
	name = b.String()
	if fault = cmp.Or(NameFault(name), fault); fault != "" {
		return name, fault
	}
	if again, ok := f.Match(name); !ok || !slices.Equal(again, values) {
		return name, "it would be read with other captures"
	}
	return name, ""
}

// MaxName and MaxNamePart bound the bytes of a file's name below its folder, and of each of its parts: systems take
// 1,024 and 255, and a file is written beside its place under a name that is 15 bytes longer.
const (
	MaxName     = 800
	MaxNamePart = 240
)

// NameFault says why a migration has no file of this name, "" if it may have one.
func NameFault(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "it is no UTF-8"
	case strings.ContainsAny(name, "\\\x00"):
		return "it has a \\ or a zero byte"
	case len(name) > MaxName:
		return "it has more than " + strconv.Itoa(MaxName) + " bytes"
	}
	for _, part := range strings.Split(name, "/") {
		switch {
		case part == "." || part == "..":
			return "it has . or .. for a folder or file"
		case len(part) > MaxNamePart:
			return "a file or folder in it has more than " + strconv.Itoa(MaxNamePart) + " bytes"
		case OwnName(part):
			return "keywright's own files have such names"
		}
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "this system has no such name"
	}
	return ""
}

// OwnName reports whether a file or folder among the sources is one of keywright's own.
func OwnName(part string) bool {
	return strings.EqualFold(part, OwnFolder) || strings.HasPrefix(part, ".") && strings.HasSuffix(part, Temporary)
}

// Below reports whether a file of the name may be below a folder.
func (f File) Below(folder string) bool {
	var parts []FilePart
	left := strings.Count(folder, "/") + 1 // so many parts of the name are those of the folder
	for _, p := range f.Parts {
		for p.Name == "" {
			head, rest, more := strings.Cut(p.Literal, "/")
			if !more {
				break
			}
			if left--; left == 0 {
				_, ok := File{Parts: append(parts, FilePart{Literal: head})}.Match(folder)
				return ok
			}
			parts, p.Literal = append(parts, FilePart{Literal: head + "/"}), rest
		}
		parts = append(parts, p)
	}
	return false
}

// OwnFolder is the folder of the engine's own files in that of the sources. Temporary is the end of the name, which
// begins with a dot, of a file that takes the place of another.
const (
	OwnFolder = ".keywright"
	Temporary = ".keywright.tmp"
)
