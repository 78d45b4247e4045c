// Package compare tells whether two places hold the same keys: servers, archives and
// snapshots, in any pair. Values are equal if what a client can read of them is: the
// encoding does not count, nor the order of what has none, nor whether a value came
// whole or in parts. Expiries are equal to the millisecond.
//
// It decides and counts. It opens no file, speaks to no server and changes nothing:
// a Side reads, and the caller prints. A key that differs is read again before it
// counts, so that what is written while it is compared is not taken for a difference.
//
// API: may change until 1.0.
package compare
