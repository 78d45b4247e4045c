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

// MatchString calls MatchString of the compiled expression.
func (f Form) MatchString(s string) bool { return f().MatchString(s) }

// FindString calls FindString of the compiled expression.
func (f Form) FindString(s string) string { return f().FindString(s) }

// FindStringIndex calls FindStringIndex of the compiled expression.
func (f Form) FindStringIndex(s string) []int { return f().FindStringIndex(s) }

// FindStringSubmatch calls FindStringSubmatch of the compiled expression.
func (f Form) FindStringSubmatch(s string) []string { return f().FindStringSubmatch(s) }

// FindStringSubmatchIndex calls FindStringSubmatchIndex of the compiled expression.
func (f Form) FindStringSubmatchIndex(s string) []int { return f().FindStringSubmatchIndex(s) }

// FindAllString calls FindAllString of the compiled expression.
func (f Form) FindAllString(s string, n int) []string { return f().FindAllString(s, n) }

// FindAllStringIndex calls FindAllStringIndex of the compiled expression.
func (f Form) FindAllStringIndex(s string, n int) [][]int { return f().FindAllStringIndex(s, n) }

// FindAllStringSubmatch calls FindAllStringSubmatch of the compiled expression.
func (f Form) FindAllStringSubmatch(s string, n int) [][]string {
	return f().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex calls FindAllStringSubmatchIndex of the compiled expression.
func (f Form) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return f().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllString calls ReplaceAllString of the compiled expression.
func (f Form) ReplaceAllString(s, with string) string { return f().ReplaceAllString(s, with) }

// ReplaceAllStringFunc calls ReplaceAllStringFunc of the compiled expression.
func (f Form) ReplaceAllStringFunc(s string, with func(string) string) string {
	return f().ReplaceAllStringFunc(s, with)
}

// Split calls Split of the compiled expression.
func (f Form) Split(s string, n int) []string { return f().Split(s, n) }
