"""Runs the program of a batch of declarations against a server:

    python3 places.py PROGRAM.py MODE HOST:PORT

Prints every difference and ends with 1 if there is one. In the mode "hear" it
prints ready when it has subscribed, and ends when it has heard all.
"""

import importlib.util
import os
import socket
import sys


class Connection:
    def __init__(self, address):
        host, _, port = address.partition(":")
        self.socket = socket.create_connection((host, int(port)))
        self.file = self.socket.makefile("rb")

    def write(self, parts):
        data = [b"*%d\r\n" % len(parts)]
        for part in parts:
            raw = part.encode("utf-8") if isinstance(part, str) else part
            data.append(b"$%d\r\n%s\r\n" % (len(raw), raw))
        self.socket.sendall(b"".join(data))

    def read(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"$":
            return self.file.read(int(rest) + 2)[:-2] if int(rest) >= 0 else None
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        if not line:
            raise RuntimeError("the connection broke")
        return rest.decode()

    def close(self):
        self.file.close()
        self.socket.close()


class Server:
    def __init__(self, mode, address):
        self.mode = mode
        self.commands = Connection(address)
        self.ears = Connection(address)
        self.expected = {}
        self.failures = 0

    def send(self, *command):
        self.commands.write(command)
        return self.commands.read()

    def same(self, what, got, want):
        if got != want or repr(type(got)) != repr(type(want)):
            self.failures += 1
            print(what, "got", repr(got), "want", repr(want), file=sys.stderr)

    def hear(self, _, channel, check):
        self.expected[channel.encode("utf-8") if isinstance(channel, str) else channel] = check
        self.ears.write(["SUBSCRIBE", channel])
        self.ears.read()


def main(file, mode, address):
    sys.path.insert(0, os.path.dirname(file))
    spec = importlib.util.spec_from_file_location("program", file)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    server = Server(mode, address)
    program.play(server)
    if mode == "hear":
        print("ready", flush=True)
        while server.expected:
            _, channel, text = server.ears.read()
            server.expected.pop(channel, lambda _: None)(text)
    server.commands.close()
    server.ears.close()
    return 1 if server.failures else 0


sys.exit(main(*sys.argv[1:]))
