// The Kotlin extensions of the client for the JVM: the README's chat in coroutines.
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { join, resolve } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { type BuiltJvm, javaArguments } from "../support/native/jvm.ts"
import { type Chats, startChats } from "../support/native/jvm-chats.ts"
import { buildKotlin, whyNoKotlin } from "../support/native/kotlin.ts"

const jvm = resolve(import.meta.dirname, "../../clients/jvm")

test("the README shows the Kotlin program that the test runs", () => {
  const program = readFileSync(join(jvm, "kotlin/src/test/kotlin/Chat.kt"), "utf8")
  expect(readFileSync(join(jvm, "kotlin/README.md"), "utf8")).toContain(`\`\`\`kotlin\n${program}\`\`\``)
})

describe.skipIf(whyNoKotlin !== undefined)(whyNoKotlin ?? "the Kotlin extensions", () => {
  let built: BuiltJvm
  let folder: string
  let chats: Chats | undefined
  beforeAll(async () => {
    folder = mkdtempSync(join(fastTmpdir(), "signet-kotlin-"))
    built = await buildKotlin()
    chats = await startChats(folder, ...javaArguments(built, "ChatKt"))
  }, 900_000)
  afterAll(async () => {
    await chats?.end()
    rmSync(folder, { recursive: true, force: true })
  })

  test("suspend for replies, and collect events until the client is closed", async () => {
    if (chats === undefined) throw new Error("the server did not start")
    const ada = await chats.start("ada@example.com")
    const adaId = /^signed in as (prn_\S+)$/.exec(await ada.next())?.[1] ?? ""
    expect(await ada.next()).toBe("ready")
    const ben = await chats.start("ben@example.com", adaId, "hello")
    const benId = /^signed in as (prn_\S+)$/.exec(await ben.next())?.[1]
    expect(await ada.next()).toBe(`${benId}: hello`)
    // The program closes its client: the running call fails, and the flow completes.
    ada.end()
    expect([await ada.next(), await ada.next()].sort()).toEqual(["CLOSED", "closed"])
    await expect(ada.next()).rejects.toThrow("java ended")
  }, 300_000)
})
