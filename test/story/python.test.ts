import { spawn } from "node:child_process"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { create, toJsonString } from "@bufbuild/protobuf"
import { ExternalLoginRequestSchema } from "@signet/proto/auth/v1/auth_service"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { generateStubs, python, pythonMissing } from "../interop/python/stubs.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const missing = pythonMissing()
const script = join(import.meta.dirname, "../interop/python/sign_in.py")

describe.skipIf(missing !== undefined)(`a Python client over gRPC${missing ? ` (skipped: ${missing})` : ""}`, () => {
  let server: TestServer
  let stubs: string
  beforeAll(async () => {
    server = await startTestServer({ store: storyStore })
    stubs = generateStubs()
  })
  afterAll(async () => {
    await server?.close()
    if (stubs) rmSync(stubs, { recursive: true, force: true })
  })

  test("signs in, lists, refreshes and reads typed reasons, from stubs of proto/ alone", async () => {
    const login = toJsonString(
      ExternalLoginRequestSchema,
      create(ExternalLoginRequestSchema, await server.login("python")),
    )
    const child = spawn(python, [script, stubs, `127.0.0.1:${server.port}`], { stdio: ["pipe", "pipe", "inherit"] })
    child.stdin.end(login)
    const seen: unknown = JSON.parse(await text(child.stdout))
    expect(seen).toEqual({
      principal: expect.stringMatching(/^prn_/),
      sessions: 1,
      anonymous: ["UNAUTHENTICATED", "NO_CREDENTIAL"],
      invalid: ["INVALID_ARGUMENT", "INVALID_FIELD"],
      refreshed: true,
      reuse: ["UNAUTHENTICATED", "REFRESH_TOKEN_REUSED"],
      successor: ["UNAUTHENTICATED", "REFRESH_TOKEN_INVALID"],
      revoked: ["UNAUTHENTICATED", "SESSION_REVOKED"],
    })
  })
})
