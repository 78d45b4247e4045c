// Package githubbroker hands GitHub issues to agents, over generated code only
// (package brokerkeys). It has three programs, each with what it may do and no more:
//
//   - a Poller reads GitHub and keeps the cache in Redis in line with it: open issues,
//     when they were first seen with the label needs-review, and the review comments that
//     ask for a fix. It writes what comes from GitHub, and nothing else does.
//   - a Broker hands work to agents, over HTTP: fixes first, then reviews that have waited
//     for a while, then development. It writes what agents do, and never asks GitHub.
//   - an Agent asks a broker for work and runs a command. It needs neither Redis nor GitHub.
//
// Any number of each may run, and any of them may be killed at any moment.
package githubbroker
