// Package cunningbot is a Discord bot of seven programs: the bot itself, and six tasks that
// poll. It shows how a system that kept its state in JSON files keeps it in Redis or Valkey.
//
// All state is reached through the small interfaces of package state, one per subsystem. Packages
// below it have them: redis, on the generated package cunningkeys, files, on the JSON files that the
// bot had before, and moving, from the one to the other. Package outside has Discord, the language
// model and the feeds.
package cunningbot
