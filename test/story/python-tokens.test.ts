import { spawn } from "node:child_process"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { generateStubs, python, pythonMissing } from "../interop/python/stubs.ts"
import { isLong } from "../support/effort.ts"
import { storyStore } from "../support/postgres.ts"
import { accessTokenType, startTokenWorld, type TokenWorld } from "../support/token-world.ts"

const missing = pythonMissing()
const script = join(import.meta.dirname, "../interop/python/tokens.py")

describe.skipIf(missing !== undefined)(`a Python service over gRPC${missing ? ` (skipped: ${missing})` : ""}`, () => {
  let world: TokenWorld
  let stubs: string
  beforeAll(async () => {
    world = await startTokenWorld({ store: storyStore })
    stubs = generateStubs()
  })
  afterAll(async () => {
    await world?.server.close()
    if (stubs) rmSync(stubs, { recursive: true, force: true })
  })

  test.runIf(isLong)("gets, exchanges, introspects and revokes tokens, from stubs of proto/ alone", async () => {
    const user = await world.signIn()
    const given = {
      client_id: world.gateway.account.clientId,
      client_secret: world.gateway.secret,
      notes_id: world.notes.account.clientId,
      notes_secret: world.notes.secret,
      subject_token: user.tokens["svc-gateway"],
    }
    const target = `127.0.0.1:${world.server.port}`
    const child = spawn(python, [script, stubs, target], { stdio: ["pipe", "pipe", "inherit"] })
    child.stdin.end(JSON.stringify(given))
    expect(JSON.parse(await text(child.stdout))).toEqual({
      own: ["Bearer", 600, "notes.read"],
      delegated: [accessTokenType, "notes.read"],
      "empty subject": ["INVALID_ARGUMENT", "INVALID_FIELD"],
      "no subject": ["INVALID_ARGUMENT", "INVALID_FIELD", "invalid_request"],
      "too much": ["PERMISSION_DENIED", "SCOPE_NOT_GRANTED", "invalid_scope"],
      told: [true, "user", true, "python"],
      after: false,
      endpoint: "https://auth.example/auth/token",
    })
  })
})
