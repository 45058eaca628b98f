// The native module of React Native: its own C++ on React Native's JavaScript interface with JavaScriptCore, and libsignet.
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createTaint } from "../../clients/react-native/testing/taint.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { effort, isLong, isNightly } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { type Messengers, messengersOn, textsIn } from "../support/messaging/messengers.ts"
import { optionsBytes } from "../support/native/driver.ts"
import {
  buildEngineTest,
  buildJsc,
  hermesReplay,
  type JscBuild,
  type JsiMember,
  startJsiMember,
  whyNoJsi,
} from "../support/native/react-native.ts"
import { storyStore } from "../support/postgres.ts"

/** As the server makes them. */
const refreshToken = /sgrt_[0-9A-Za-z]{50}/g

const utf8 = (text: string) => new TextEncoder().encode(text)
const hexOf = (text: string) => Buffer.from(text).toString("hex")

describe.skipIf(whyNoJsi !== undefined)(whyNoJsi ?? "the native module of React Native", () => {
  let server: Deployment
  let messengers: Messengers
  let built: JscBuild
  let folder: string
  const members: JsiMember[] = []
  beforeAll(async () => {
    folder = mkdtempSync(join(fastTmpdir(), "signet-jsi-"))
    built = await buildJsc()
    server = await startDeployment({ store: storyStore })
    messengers = messengersOn(server)
  }, 900_000)
  afterAll(async () => {
    for (const member of members) member.kill()
    await messengers?.close()
    await server?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  function start(name: string): JsiMember {
    const member = startJsiMember(built, { folder, name, origins: [...new Set([server.url, server.messagingUrl])] })
    members.push(member)
    return member
  }

  const options = () => ({
    ...{ appId: server.app.id, authBaseUrl: server.url, providers: ["IDP_A"], audiences: [server.audience] },
  })

  async function signIn(member: JsiMember, subject: string): Promise<string> {
    const { credential, nonce = "" } = await server.login(subject)
    const idToken = credential?.case === "idToken" ? credential.value : ""
    return member.ask<string>("signIn", { nonce, idToken })
  }

  const openMessenger = (member: JsiMember) =>
    member.ask<string>("messenger", {
      ...{ baseUrl: server.messagingUrl, audience: server.audience, rootKey: [...server.issuerRootKey] },
    })

  test("two people write to each other, and no key, group state or token crosses into JavaScript", async () => {
    const ann = start("ann")
    await ann.ask("open", options())
    const annId = await signIn(ann, "ann in React Native")
    const device = await openMessenger(ann)
    const ben = await messengers.newcomer("ben in Node")
    const id = await ann.ask<string>("direct", ben.person.userId)
    await ann.ask("send", { id, text: "from React Native, planted-55e1" })
    await ben.messenger.sync()
    await ben.messenger.send(id, utf8("from Node"))
    await ann.ask("sync")
    const all = ["from React Native, planted-55e1", "from Node"]
    expect(await ann.ask("texts", id)).toEqual(all)
    expect(await textsIn(ben, id)).toEqual(all)
    expect(await ann.ask("events")).toContain("entry")
    expect(await ann.ask("verification", ben.person.userId)).toBe(
      (await ben.messenger.verification.of(annId)).safetyNumber,
    )
    await expect(ann.ask("send", { id: "cnv_none", text: "x" })).rejects.toMatchObject({ name: "MessagingError" })

    const crossed = (await ann.ask<string[]>("crossed")).join("\n")
    const taint = createTaint()
    for (const { primitive, bytes } of ann.secrets()) {
      if (primitive <= 10) taint.add("a key", bytes)
      else
        for (const [token] of Buffer.from(bytes).toString("latin1").matchAll(refreshToken)) taint.add("a token", token)
    }
    expect(taint.count).toBeGreaterThan(400)
    expect(taint.secrets.some(({ name }) => name === "a token")).toBe(true)
    const planted = createTaint()
    planted.add("the plaintext", "planted-55e1")
    expect(planted.in(crossed)).toEqual(["the plaintext"])
    expect(taint.in(crossed)).toEqual([])
    // The beginning of an access token.
    expect(crossed).not.toContain(Buffer.from("eyJhbGciOi").toString("hex"))
    const secret = taint.secrets.find(({ name }) => name === "a key")
    expect(taint.in(`${crossed}\n${Buffer.from(secret?.bytes ?? []).toString("hex")}`)).toEqual(["a key"])

    await ann.ask("close")
    await expect(ann.ask("sync")).rejects.toMatchObject({ reason: "CLOSED" })
    expect(await ann.ask("open", options())).toMatchObject({ is: "signedIn", user: { principalId: annId } })
    expect(await openMessenger(ann)).toBe(device)
    expect(await ann.ask("texts", id)).toEqual(all)
    expect(await ann.end()).toBe(0)
    expect(ann.errors()).toBe("")
  }, 300_000)

  test.runIf(isLong)(
    "attachments are files, and none of the client's own",
    async () => {
      const eve = start("eve")
      await eve.ask("open", options())
      await signIn(eve, "eve in React Native")
      await openMessenger(eve)
      const ben = await messengers.newcomer("ben with files")
      const id = await eve.ask<string>("direct", ben.person.userId)
      const [sent, saved] = [join(folder, "sent.txt"), join(folder, "saved.txt")]
      writeFileSync(sent, "content of a file".repeat(10_000))
      const { seq, progress } = await eve.ask<{ seq: string; progress: number[] }>("sendFile", { id, path: sent })
      // Of the ciphertext.
      expect(progress.at(-1)).toBeGreaterThan(170_000)
      expect(await eve.ask("saveFile", { id, seq, path: saved })).toEqual({ size: 170_000 })
      expect(readFileSync(saved, "utf8")).toBe(readFileSync(sent, "utf8"))
      await ben.messenger.sync()
      const opened = await ben.messenger.openAttachment(id, BigInt(seq))
      expect(Buffer.from(await opened.read(0, 17)).toString()).toBe("content of a file")

      symlinkSync(join(folder, "eve"), join(folder, "link"))
      const own = [
        join(folder, "eve/default/box"),
        join(folder, "link/x"),
        join(folder, "ben/../eve/x"),
        "relative",
        "",
      ]
      for (const path of own) {
        await expect(eve.ask("sendFile", { id, path })).rejects.toThrow("path must be absolute, and outside")
        await expect(eve.ask("saveFile", { id, seq, path })).rejects.toThrow("path must be absolute, and outside")
      }
      expect(await eve.end()).toBe(0)
    },
    300_000,
  )

  test.skipIf(process.arch !== "x64")(
    "the TypeScript does the same on Hermes, with the same native side",
    async () => {
      const joe = start("joe")
      await joe.ask("open", options())
      await signIn(joe, "joe in React Native")
      await openMessenger(joe)
      const ben = await messengers.newcomer("ben for Hermes")
      const id = await joe.ask<string>("direct", ben.person.userId)
      await joe.ask("send", { id, text: "Grüße, 你好, 👋" })
      await ben.messenger.sync()
      await ben.messenger.send(id, utf8("zurück"))
      await joe.ask("sync")
      expect(await joe.ask("texts", id)).toEqual(["Grüße, 你好, 👋", "zurück"])
      await joe.ask("verification", ben.person.userId)
      await joe.ask("events")
      await expect(joe.ask("send", { id: "cnv_none", text: "x" })).rejects.toMatchObject({ name: "MessagingError" })
      await joe.ask("close")
      const [lines, printed] = [[...joe.written], [...joe.printed]]
      const transcript = await joe.ask<object[]>("transcript")
      const replay = await hermesReplay()
      expect(replay(transcript, lines)).toEqual(printed)
      expect(transcript.length).toBeGreaterThan(25)
      // Other outputs of the native side are noticed.
      const other = JSON.parse(JSON.stringify(transcript).replaceAll(hexOf("zurück"), hexOf("vorwär")))
      expect(replay(other, lines)).not.toEqual(printed)
      expect(await joe.end()).toBe(0)
    },
    300_000,
  )

  test.runIf(isLong)(
    "an app's services are called with a token that JavaScript does not have",
    async () => {
      const fay = start("fay")
      const origin = new URL(server.url).origin
      await fay.ask("open", { ...options(), serviceOrigins: [origin] })
      await signIn(fay, "fay in React Native")
      const { status, text } = await fay.ask<{ status: number; text: string }>("fetch", {
        url: `${server.url}/auth/account/provider-accounts`,
      })
      expect([status, text]).toEqual([200, expect.stringContaining("provider")])
      const evil = { url: "https://evil.example/x", audience: "svc-notes" }
      await expect(fay.ask("fetch", evil)).rejects.toMatchObject({ name: "RangeError" })
      const own = { url: `${server.url}/auth/account/provider-accounts`, headers: { Authorization: "Bearer x" } }
      await expect(fay.ask("fetch", own)).rejects.toThrow("headers must not have authorization")
      expect((await fay.ask<string[]>("crossed")).join()).not.toContain(Buffer.from("eyJhbGciOi").toString("hex"))
      expect(await fay.end()).toBe(0)
    },
    300_000,
  )

  test("JavaScript reaches no other method, account, origin or property", async () => {
    const gus = start("gus")
    expect(await gus.ask("refused", options())).toEqual([
      "account must have 1 to 48 characters of [a-z0-9-]",
      "identity must be an ArrayBuffer",
      ...Array(2).fill("auth_base_url and service_origins must be of origins that the app's native code lists"),
      "listener must be a function",
      ...Array(3).fill("id must be an integer of 1 to 2^53 - 2"),
      "method must be in the list of callable methods, as Service/Method",
      "request must be an ArrayBuffer",
      ...Array(3).fill("base_url must be of an origin that the app's native code lists"),
      expect.stringMatching(/call/),
    ])
    await expect(gus.ask("open", { ...options(), account: "refused" })).rejects.toEqual(
      expect.objectContaining({ reason: "HOST_REFUSED", message: "the app's native code has refused the account" }),
    )
    // libsignet refuses the option itself.
    await expect(gus.ask("open", { ...options(), appId: "" })).rejects.toMatchObject({ message: /./ })
    expect(await gus.ask("keys")).toEqual([[], [], []])
    expect(await gus.end()).toBe(0)
  }, 120_000)

  test.runIf(isLong)(
    "a close ends running calls, two clients work at once, and the runtime may end first",
    async () => {
      const hal = start("hal")
      const ends = await hal.ask<string[]>("closeDuringCalls", options())
      expect(ends).toHaveLength(201)
      expect(new Set(ends)).toContain("CLOSED")
      expect(ends.at(-1)).toBe("CLOSED")
      expect(await hal.ask("twoClients", options())).toBe(200)
      await hal.ask("forget", options())
      void hal.ask("quit", options()).catch(() => undefined)
      expect(await hal.end()).toBe(0)
      expect(hal.errors()).toBe("")
    },
    120_000,
  )

  test.runIf(isLong)(
    "calls leave no memory behind",
    async () => {
      const ida = start("ida")
      const count = effort(0, 100_000, 1_000_000)
      interface Memory {
        readonly allocated: number
        readonly resident: number
      }
      const { nanoseconds, before, after, share } = await ida.ask<{
        readonly nanoseconds: number
        readonly before: Memory
        readonly after: Memory
        readonly share: number
      }>("calls", { options: options(), count })
      const [first, last] = [before, after].map((one) => `${one.allocated} bytes, ${one.resident} KB resident`)
      console.log(`a call over JSI: ${(nanoseconds / 1000).toFixed(0)} µs; ${first}, then ${last}; ${share} exist`)
      // Native memory: a few bytes of a call at most, beside what the first calls leave.
      expect(after.allocated - before.allocated).toBeLessThan(2_000_000 + 4 * count)
      // JavaScript: the engine may keep some of the newest objects.
      expect(share).toBeLessThanOrEqual(0.25)
      // The process: JavaScriptCore keeps some 50 MB for new objects, whatever the number of calls.
      expect(after.resident - before.resident).toBeLessThan(100 * 1024)
      expect(await ida.end()).toBe(0)
    },
    effort(600_000, 600_000, 3_600_000),
  )

  test.runIf(isLong).each(isNightly ? ["thread", "address,undefined"] : ["address,undefined"])(
    "threads may call an engine while it opens and closes (sanitizer: %s)",
    async (sanitizer) => {
      const program = await buildEngineTest(sanitizer)
      const given = optionsBytes({
        dataFolder: join(folder, `engine-${sanitizer}`),
        box: { case: "passphrase", value: { passphrase: utf8("a passphrase") } },
      })
      const args = [Buffer.from(given).toString("hex"), effort("4", "12", "200")]
      const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" })
      expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "", stderr: "" })
    },
    600_000,
  )
})
