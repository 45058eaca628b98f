// A fake worker: a script that becomes ready at once, or reports that it runs, and then hangs and ignores SIGTERM.

if (process.argv[2] === "hangs") {
  process.on("SIGTERM", () => undefined)
  process.send?.({ is: "hints", payloads: [] })
} else process.send?.({ is: "ready", url: "http://127.0.0.1" })
process.on("message", ({ is }: { is: string }) => is === "stop" && process.exit(0))
