package notice_test

import (
	"fmt"
	"time"

	"github.com/keywright/keywright/kernel/notice"
)

// A hook is notified of what happens to constructs, by the names of the declaration.
func Example() {
	heard := func(n notice.Notice) {
		if n.Kind == notice.LockLost {
			fmt.Println(n.Entry, "was lost after", n.Elapsed)
		}
	}
	heard(notice.Notice{Kind: notice.JobDone, Entry: "tasks"})
	heard(notice.Notice{Kind: notice.LockLost, Entry: "coupon_issue", Elapsed: 3 * time.Second})
	// Output: coupon_issue was lost after 3s
}
