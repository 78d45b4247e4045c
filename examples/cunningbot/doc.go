// Package cunningbot is a Discord bot of seven programs: the bot itself, and six tasks that
// poll. It shows how a system that kept its state in JSON files keeps it in Redis or Valkey.
//
// All state is reached through the small interfaces of Store, one per subsystem. Two
// implementations have them: OpenRedis, on the generated package cunningkeys, and OpenFiles,
// on the JSON files that the bot had before.
package cunningbot
