// A process that uses the system's store, which is found through the environment once per process.
// Arguments: the scope's user, then steps: create, seal:PURPOSE:TEXT, open:PURPOSE:SEALED, rotate, destroy.
// Prints one line of JSON per step: its result, or the reason of its error.
import { isSecretBoxError, type SecretBox } from "../../../core/secret-box.ts"
import { openOsSecretBox } from "../os-store.ts"

const [user = "", ...steps] = process.argv.slice(2)
const scope = { app: "app_test", user }
const inTurn = { run: <T>(work: () => Promise<T>) => work() }

async function run(box: SecretBox, step: string): Promise<string> {
  const [what = "", purpose = "", text = ""] = step.split(":")
  switch (what) {
    case "create":
      await box.createKey(scope)
      return "made"
    case "seal":
      return Buffer.from(await box.seal(scope, purpose, new TextEncoder().encode(text))).toString("hex")
    case "open":
      return new TextDecoder().decode(await box.open(scope, purpose, new Uint8Array(Buffer.from(text, "hex"))))
    case "rotate":
      await box.rotate(scope)
      return "rotated"
    case "destroy":
      await box.destroy(scope)
      return "destroyed"
    default:
      throw new Error(`no such step: ${step}`)
  }
}

const box = await openOsSecretBox({ lock: inTurn })
for (const step of steps) {
  const result = await run(box, step).catch((error: unknown) =>
    isSecretBoxError(error) ? error.reason : String(error),
  )
  console.log(JSON.stringify(result))
}
// The library's thread would keep the process alive.
process.exit(0)
