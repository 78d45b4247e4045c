// Package pages is the programs that the pages of docs/ and the README show. Each Go
// block there is a region of a test here, between //doc:begin NAME and //doc:end:
// go generate writes it into the page, and a test compares them.
package pages
