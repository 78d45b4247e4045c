package dump_test

import (
	"fmt"

	"github.com/keywright/keywright/source/rdb/dump"
)

// A set in a listpack, as Redis 7.2 dumps it, becomes one that Redis 6.2 loads, and has the same elements.
func Example() {
	listpack := []byte("\x11\x00\x00\x00\x02\x00\x83red\x04\x84blue\x05\xff")
	value := append([]byte{20, byte(len(listpack))}, listpack...)
	older, version, err := dump.Rewrite(value, 11, dump.VersionOf(false, 6, 2))
	fmt.Println(version, err)
	err = dump.Elements(older, version, 0, func(elements [][]byte, _ bool) error {
		fmt.Printf("%s\n", elements)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 9 <nil>
	// [red blue]
	// <nil>
}
