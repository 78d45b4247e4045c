// Package examples holds the declarations of five teams' Redis and of one that
// was found as it is. It has no code: its tests prove that each declaration
// says what the team's page says (facts.tsv), is clean, and, for the found one,
// that an audit of the real data finds exactly what is known to be wrong.
//
// It is a module of its own, so that the library does not depend on what only
// examples need. The declarations are for reading; copy from them freely.
package examples
