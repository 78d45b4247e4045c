package page

import (
	"regexp"
	"sync"
)

// form represents a regular expression that is compiled when it is first used. There are more
// than a hundred, and a command that reads no page pays for none.
type form func() *regexp.Regexp

// forms lists all of them.
var forms []form

func lazy(text string) form { return lazyOf(func() string { return text }) }

// lazyOf makes a form of a text that is made when it is first used.
func lazyOf(text func() string) form {
	f := form(sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text()) }))
	forms = append(forms, f)
	return f
}

func (f form) MatchString(s string) bool                  { return f().MatchString(s) }
func (f form) FindString(s string) string                 { return f().FindString(s) }
func (f form) FindStringIndex(s string) []int             { return f().FindStringIndex(s) }
func (f form) FindStringSubmatch(s string) []string       { return f().FindStringSubmatch(s) }
func (f form) FindStringSubmatchIndex(s string) []int     { return f().FindStringSubmatchIndex(s) }
func (f form) FindAllString(s string, n int) []string     { return f().FindAllString(s, n) }
func (f form) FindAllStringIndex(s string, n int) [][]int { return f().FindAllStringIndex(s, n) }
func (f form) FindAllStringSubmatch(s string, n int) [][]string {
	return f().FindAllStringSubmatch(s, n)
}
func (f form) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return f().FindAllStringSubmatchIndex(s, n)
}
func (f form) ReplaceAllString(s, with string) string { return f().ReplaceAllString(s, with) }
func (f form) ReplaceAllStringFunc(s string, with func(string) string) string {
	return f().ReplaceAllStringFunc(s, with)
}
func (f form) Split(s string, n int) []string { return f().Split(s, n) }
