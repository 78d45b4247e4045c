package source

// Glob matches a name as SCAN MATCH does: * ? [abc] [^a] [a-z] and \ before a
// special character. See https://redis.io/docs/latest/commands/keys/.
func Glob(pattern, name []byte) bool {
	for len(pattern) > 0 {
		if pattern[0] == '*' {
			for len(pattern) > 0 && pattern[0] == '*' {
				pattern = pattern[1:]
			}
			return star(pattern, name)
		}
		if len(name) == 0 {
			return false
		}
		rest, ok := globByte(pattern, name[0])
		if !ok {
			return false
		}
		pattern, name = rest, name[1:]
	}
	return len(name) == 0
}

// star matches what follows a star. The last star decides: once what follows it
// matched up to the next star, no earlier one needs to try again.
func star(pattern, name []byte) bool {
	back, at := pattern, name
	for {
		switch {
		case len(pattern) > 0 && pattern[0] == '*':
			pattern = pattern[1:]
			back, at = pattern, name
			continue
		case len(name) == 0:
			return len(pattern) == 0
		}
		if len(pattern) > 0 {
			if rest, ok := globByte(pattern, name[0]); ok {
				pattern, name = rest, name[1:]
				continue
			}
		}
		if len(at) == 0 {
			return false
		}
		at = at[1:]
		pattern, name = back, at
		if len(back) == 0 {
			return true
		}
	}
}

// globByte matches one byte, and gives the pattern after what matched it.
func globByte(p []byte, c byte) ([]byte, bool) {
	switch p[0] {
	case '?':
		return p[1:], true
	case '[':
		return byteSet(p[1:], c)
	case '\\':
		if len(p) > 1 {
			p = p[1:]
		}
	}
	return p[1:], p[0] == c
}

func byteSet(p []byte, c byte) ([]byte, bool) {
	not := len(p) > 0 && p[0] == '^'
	if not {
		p = p[1:]
	}
	found := false
	for len(p) > 0 && p[0] != ']' {
		if p[0] == '\\' && len(p) > 1 {
			p = p[1:]
			found = found || p[0] == c
		} else if len(p) > 2 && p[1] == '-' {
			from, to := min(p[0], p[2]), max(p[0], p[2])
			found = found || from <= c && c <= to
			p = p[2:]
		} else {
			found = found || p[0] == c
		}
		p = p[1:]
	}
	if len(p) > 0 {
		p = p[1:]
	}
	return p, found != not
}
