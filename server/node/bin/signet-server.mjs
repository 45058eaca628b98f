#!/usr/bin/env node
// Plain JavaScript, so that every Node version can parse it and print the error.
import { existsSync } from "node:fs"

const [major] = process.versions.node.split(".").map(Number)
if (major < 24) {
  console.error(
    `signet-server needs Node 24 or newer and this is Node ${process.versions.node}: install Node 24 and run it again.`,
  )
  process.exit(2)
}
const help = `signet-server            start the server: settings come from the environment
signet-server admin …    an operator's command on the server's own database
signet-server health     exit with 0 if the server on this machine is ready

Without settings it is the development profile on http://127.0.0.1:8080, with its data in ./.signet.
PORT, HOST, DATABASE_URL, SIGNET_DATA and SIGNET_PROFILE are the first settings to know.`

// A worker of the executable file gets its script once more.
if (process.argv[2] === process.argv[1]) process.argv.splice(2, 1)
const [command] = process.argv.slice(2)
const load = (path) => {
  const built = new URL(`../dist/server/node/${path}.js`, import.meta.url)
  return import(existsSync(built) ? built.href : new URL(`../${path}.ts`, import.meta.url).href)
}
if (command === undefined) await load("main")
else if (command === "health") await load("health/main")
else if (command === "admin") {
  process.argv.splice(2, 1)
  await load("admin/main")
} else if (command === "--help" || command === "help" || command === "-h") console.log(help)
else {
  console.error(`signet-server has no command "${command}".\n\n${help}`)
  process.exitCode = 2
}
