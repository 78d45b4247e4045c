// Package jsonbound counts what a text of JSON would make before it is decoded: two bytes
// of a list of objects may take hundreds when they are decoded.
package jsonbound

import "fmt"

// Check returns an error if a text has more objects and lists, or more values, than that. It
// does not say whether the text is JSON.
func Check(text []byte, objects, values int) error {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			quoted = !quoted
		case '\\':
			if quoted {
				i++
			}
		case '{', '[':
			if !quoted {
				objects--
			}
		case ',':
			if !quoted {
				values--
			}
		}
		if objects < 0 || values < 0 {
			return fmt.Errorf("it has too many values: byte %d is where the bound is passed", i)
		}
	}
	return nil
}
