// A substitute for Windows PowerShell with its documented behaviour: it wraps as DPAPI does, for a user and with the
// given entropy, or acts as locked down, broken or slow.
// FAKE is a folder: user (the owner of the keys), mood, and calls (one line of JSON per call).
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto"
import { appendFileSync, readFileSync } from "node:fs"
import { join } from "node:path"

const folder = process.argv[2]
const args = process.argv.slice(3)
const mood = readFileSync(join(folder, "mood"), "utf8")
const user = readFileSync(join(folder, "user"), "utf8")

const say = (text, code) => process.stdout.write(text, () => process.exit(code))
let input = ""
process.stdin.setEncoding("utf8")
process.stdin.on("data", (text) => {
  input += text
})
process.stdin.on("end", () => {
  const script = Buffer.from(args.at(-1), "base64").toString("utf16le")
  appendFileSync(join(folder, "calls"), `${JSON.stringify({ args: args.slice(0, -1), script, input })}\n`)
  act(script)
})

function act(script) {
  switch (mood) {
    case "constrained":
      // PowerShell's pipeline output ends in a Windows line break.
      return say("signet-constrained\r\n", 3)
    case "blocked":
      return say("", 1)
    case "garbage":
      return say('#< CLIXML\r\n<Objs Version="1.1.0.1"></Objs>', 0)
    case "half":
      return say("signet-ok AQID!", 0)
    case "cut":
      return say("signet-ok AQIDBA=", 0)
    case "empty":
      return say("signet-ok ", 0)
    case "endless":
      return process.stdout.write("x".repeat(1 << 20))
    case "slow":
      return setTimeout(() => say("", 0), 60_000)
    case "no profile":
      return say("signet-failed -2147024894", 1)
    case "fine":
      return protect(script)
  }
}

function protect(script) {
  if (!/CurrentUser/.test(script)) return say("signet-failed -2147024809", 1)
  const [what, entropy, data] = input.split("\n")
  const key = createHash("sha256").update(`${user} ${entropy}`).digest()
  const bytes = Buffer.from(data, "base64")
  if (what === "protect") {
    const nonce = randomBytes(12)
    const cipher = createCipheriv("aes-256-gcm", key, nonce)
    const wrapped = Buffer.concat([cipher.update(bytes), cipher.final()])
    return say(
      `signet-ok ${Buffer.concat([Buffer.from(user.padEnd(8)), nonce, cipher.getAuthTag(), wrapped]).toString("base64")}`,
      0,
    )
  }
  // The wrapped bytes name their master key; another user's is not found.
  if (bytes.subarray(0, 8).toString() !== user.padEnd(8)) return say("signet-failed -2146893813", 1)
  try {
    const cipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(8, 20)).setAuthTag(bytes.subarray(20, 36))
    say(`signet-ok ${Buffer.concat([cipher.update(bytes.subarray(36)), cipher.final()]).toString("base64")}`, 0)
  } catch {
    say("signet-failed -2147024883", 1)
  }
}
