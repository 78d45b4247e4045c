// Package regex compiles a regular expression when it is first used. Package page has more than a hundred, and a
// command that reads no page pays for none. It is no other language of expressions: they are those of package regexp.
package regex

import (
	"regexp"
	"sync"
)

// Form represents a regular expression that is compiled when it is first used. There are more
// than a hundred, and a command that reads no page pays for none.
type Form func() *regexp.Regexp

// All lists all of them.
var All []Form

// Lazy makes a form of a text.
func Lazy(text string) Form { return LazyOf(func() string { return text }) }

// LazyOf makes a form of a text that is made when it is first used.
func LazyOf(text func() string) Form {
	f := Form(sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text()) }))
	All = append(All, f)
	return f
}

// MatchString does what it does of a regexp.Regexp.
func (f Form) MatchString(s string) bool { return f().MatchString(s) }

// FindString does what it does of a regexp.Regexp.
func (f Form) FindString(s string) string { return f().FindString(s) }

// FindStringIndex does what it does of a regexp.Regexp.
func (f Form) FindStringIndex(s string) []int { return f().FindStringIndex(s) }

// FindStringSubmatch does what it does of a regexp.Regexp.
func (f Form) FindStringSubmatch(s string) []string { return f().FindStringSubmatch(s) }

// FindStringSubmatchIndex does what it does of a regexp.Regexp.
func (f Form) FindStringSubmatchIndex(s string) []int { return f().FindStringSubmatchIndex(s) }

// FindAllString does what it does of a regexp.Regexp.
func (f Form) FindAllString(s string, n int) []string { return f().FindAllString(s, n) }

// FindAllStringIndex does what it does of a regexp.Regexp.
func (f Form) FindAllStringIndex(s string, n int) [][]int { return f().FindAllStringIndex(s, n) }

// FindAllStringSubmatch does what it does of a regexp.Regexp.
func (f Form) FindAllStringSubmatch(s string, n int) [][]string {
	return f().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex does what it does of a regexp.Regexp.
func (f Form) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return f().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllString does what it does of a regexp.Regexp.
func (f Form) ReplaceAllString(s, with string) string { return f().ReplaceAllString(s, with) }

// ReplaceAllStringFunc does what it does of a regexp.Regexp.
func (f Form) ReplaceAllStringFunc(s string, with func(string) string) string {
	return f().ReplaceAllStringFunc(s, with)
}

// Split does what it does of a regexp.Regexp.
func (f Form) Split(s string, n int) []string { return f().Split(s, n) }
