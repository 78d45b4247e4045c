package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// onTerminal is `terminal CODE WIDTH PROGRAM ARG…`: it runs the program with its
// outputs on a terminal of that width, and puts what the terminal received into
// screen.
func onTerminal(ts *testscript.TestScript, _ bool, args []string) {
	width, err := strconv.Atoi(args[1])
	ts.Check(err)
	ctrl, tty, err := pseudoTerminal(width)
	ts.Check(err)
	defer ctrl.Close()
	c := program(ts, args[2:])
	c.Stdin, c.Stdout, c.Stderr = tty, tty, tty
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(c.Start())
	tty.Close()
	var screen bytes.Buffer
	_, _ = io.Copy(&screen, ctrl) // ends with EIO when the program has
	code := codeOf(c.Wait())
	text := bytes.ReplaceAll(screen.Bytes(), []byte("\r\n"), []byte("\n"))
	ts.Check(os.WriteFile(ts.MkAbs("screen"), text, 0o666))
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exits with %d, not %s\n%s", code, args[0], text)
	}
}

func pseudoTerminal(width int) (ctrl, tty *os.File, err error) {
	if ctrl, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	fd := int(ctrl.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: uint16(width)}); err != nil {
		return nil, nil, err
	}
	tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	return ctrl, tty, err
}
