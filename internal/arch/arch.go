// Package arch holds the laws of the house as tests: who may import whom, what
// every package has, what no file does. It has no code of its own and nobody
// imports it. A law is a row with its reason; to change one, change the row and
// say why.
package arch
