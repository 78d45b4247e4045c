package message_test

import (
	"fmt"

	"github.com/keywright/keywright/entity/message"
)

// A message with the id of an item and one of its fields, published on a channel. Generated code has it in its Spec.
func Example() {
	event := message.Event{Mode: message.Publish, Channel: "note:changed", Data: []message.Part{
		{Name: "id"},
		{Name: "kind", Field: "kind"},
	}}
	for _, part := range event.Data {
		_, known := part.Known("7", nil)
		fmt.Println(part.Name, part.Written("a text"), "known by the key:", known)
	}
	// Output:
	// id "a text" known by the key: true
	// kind "a text" known by the key: false
}
