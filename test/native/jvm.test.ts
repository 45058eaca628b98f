// The client for the JVM: its own tests, a conversation with members of other platforms, and what it leaves in memory.
import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { generateFacades } from "../../clients/jvm/generate.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { effort, isLong, isNightly } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { type Messengers, messengersOn, textsIn } from "../support/messaging/messengers.ts"
import { coreTexts, type NativeCores, nativeCoresOn } from "../support/messaging/native-cores.ts"
import {
  type BuiltJvm,
  buildJvm,
  type JvmMember,
  javaArguments,
  packageJvm,
  startMember,
  whyNoJvm,
  writeReadmeProgram,
} from "../support/native/jvm.ts"
import { startChats } from "../support/native/jvm-chats.ts"
import { type JvmClient, jvmClientOn, utf8 } from "../support/native/jvm-client.ts"
import { storyStore } from "../support/postgres.ts"

const planted = "from the JVM, planted-51cd07"
const passphrase = "correct horse"
/** The first bytes of a JWT's header, `{"alg":"`. */
const tests = ["dev.signet.client.EventsTest", "dev.signet.client.ClientTest"]
const tokenStart = "eyJhbGciOi"

test("the classes of the JVM are what the contract generates", () => {
  for (const [path, text] of generateFacades()) {
    expect(readFileSync(path, "utf8") === text, "run npm run gen").toBe(true)
  }
})

describe.skipIf(whyNoJvm !== undefined)(whyNoJvm ?? "the client for the JVM", () => {
  let built: BuiltJvm
  let server: Deployment
  let messengers: Messengers
  let cores: NativeCores
  let folder: string
  let client: JvmClient
  const members: JvmMember[] = []
  beforeAll(async () => {
    folder = mkdtempSync(join(fastTmpdir(), "signet-jvm-"))
    built = await buildJvm()
    server = await startDeployment({ store: storyStore })
    messengers = messengersOn(server)
    client = jvmClientOn(server)
    cores = await nativeCoresOn(server)
  }, 900_000)
  afterAll(async () => {
    for (const member of members) member.kill()
    await cores?.close()
    await messengers?.close()
    await server?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Opens a client in a new process, or in the one of a member that has closed its own. */
  async function open(name: string, { secret = passphrase, within }: { secret?: string; within?: JvmMember } = {}) {
    const member = within ?? startMember(built)
    if (within === undefined) members.push(member)
    const words = [utf8(secret), server.app.id, server.url, server.audience]
    expect(await member.succeed("open", join(folder, name), ...words)).toBe("SignetClient[open]")
    return member
  }

  test("passes its own tests", () => {
    const output = execFileSync("java", javaArguments(built, "dev.signet.client.RunTests", ...tests), {
      encoding: "utf8",
    })
    // -Xcheck:jni prints warnings to the output.
    expect(output).toMatch(/^\d+\n$/)
    expect(Number(output)).toBeGreaterThanOrEqual(12)
  })

  test("writes in one conversation with plain Node and with the core in WebAssembly, and continues from its folder", async () => {
    const ann = await open("ann")
    await client.signIn(ann, "ann on the JVM")
    const device = await client.openMessenger(ann)
    const ben = await messengers.newcomer("ben in Node")
    const cee = await cores.newcomer("cee in WebAssembly")
    const id = await ann.succeed("group", ben.person.userId, cee.userId)
    await ann.succeed("send", id, utf8(planted))
    await ben.messenger.sync()
    await ben.messenger.send(id, utf8("from Node"))
    await cee.messenger.sync()
    await cee.messenger.send({ conversationId: id, plaintext: utf8("from WebAssembly") })
    await ann.succeed("sync")
    await ben.messenger.sync()
    const all = [planted, "from Node", "from WebAssembly"]
    expect(await client.texts(ann, id)).toEqual(all)
    expect(await textsIn(ben, id)).toEqual(all)
    expect(await coreTexts(cee, id)).toEqual(all)
    expect(await ann.succeed("events")).toContain("ENTRY")

    expect(await ann.ask("send", "cnv_none", utf8("x"))).toMatch(
      /^failed (INTERNAL INVALID_ARGUMENT|MESSAGING CONVERSATION_UNKNOWN)$/,
    )
    await ann.succeed("follow")
    expect(await ann.succeed("close")).toBe("SignetClient[closed]")
    expect(await ann.ask("followed")).toBe("failed HOST CLOSED")
    expect(await ann.ask("sync")).toBe("failed HOST CLOSED")
    ann.kill()

    const again = await open("ann")
    expect(await again.succeed("ready")).toBe("signedIn")
    expect(await client.openMessenger(again)).toBe(device)
    await ben.messenger.send(id, utf8("after the restart"))
    await again.succeed("sync")
    expect(await client.texts(again, id)).toEqual([...all, "after the restart"])
    await again.succeed("close")

    await open("ann", { secret: "wrong horse", within: again })
    expect(await again.succeed("ready")).not.toBe("signedIn")
    expect(await again.ask("sync")).toBe("failed MESSAGING CLOSED")
    again.kill()
    expect(members.map((member) => member.errors())).toEqual(members.map(() => ""))
  }, 300_000)

  test.runIf(isLong)(
    "seals under a box of the program, whose lost key is a failure and no new key",
    async () => {
      const keys = join(folder, "fay-keys")
      const ben = await messengers.newcomer("ben of the box")
      const openBoxed = async () => {
        const member = startMember(built)
        members.push(member)
        await client.openBoxed(member, join(folder, "fay"), "dev.signet.client.FileBox", keys)
        return member
      }
      const fay = await openBoxed()
      await client.signIn(fay, "fay on the JVM")
      const device = await client.openMessenger(fay)
      const id = await fay.succeed("direct", ben.person.userId)
      await fay.succeed("send", id, utf8(planted))
      await fay.succeed("close")
      fay.kill()
      const stored = readdirSync(join(folder, "fay")).map((name) => readFileSync(join(folder, "fay", name)))
      expect(stored.some((bytes) => bytes.includes(planted))).toBe(false)

      renameSync(keys, `${keys}-away`)
      const lost = await openBoxed()
      expect(await lost.succeed("ready")).toBe("STORE_FAILED")
      expect(await lost.succeed("refusal")).toBe("KEY_INVALIDATED")
      expect(readdirSync(keys)).toEqual([])
      lost.kill()

      rmSync(keys, { recursive: true })
      renameSync(`${keys}-away`, keys)
      const found = await openBoxed()
      expect(await found.succeed("ready")).toBe("signedIn")
      expect(await found.succeed("refusal")).toBe("none")
      expect(await client.openMessenger(found)).toBe(device)
      expect(await client.texts(found, id)).toEqual([planted])
      const before = readdirSync(keys).length
      await found.succeed("destroy", ..."destroy everything on this device".split(" "))
      expect(readdirSync(keys)).toHaveLength(before - 1)
      found.kill()
      expect(members.map((member) => member.errors())).toEqual(members.map(() => ""))
    },
    300_000,
  )

  test(
    "makes calls, and opens and closes, without growth",
    async () => {
      const member = await open("calls")
      await member.succeed("calls", effort("2000", "20000", "20000"))
      const before = Number(await member.succeed("rss"))
      const nanoseconds = await member.succeed("calls", effort("1000", "20000", "1000000"))
      const after = Number(await member.succeed("rss"))
      console.log(
        `a call over JNI: ${(Number(nanoseconds) / 1000).toFixed(0)} µs; resident ${before} KB, then ${after} KB`,
      )
      expect(after - before).toBeLessThan(2 * 1024)
      const reopen = async (times: number) => {
        for (let i = 0; i < times; i++) {
          await member.succeed("close")
          await open("calls", { within: member })
        }
        return Number(await member.succeed("rss"))
      }
      // The first threads get arenas of the C library, which later threads use. A client has several megabytes.
      const settled = await reopen(effort(0, 3, 3))
      expect((await reopen(effort(1, 8, 100))) - settled).toBeLessThan(8 * 1024)
      member.kill()
    },
    effort(600_000, 600_000, 3_600_000),
  )

  test.runIf(isLong)(
    "leaves no plaintext, passphrase or token in its heap",
    async () => {
      const member = await open("heap", { secret: "planted-passphrase-20ef" })
      await client.signIn(member, "eve on the JVM")
      await client.openMessenger(member)
      const ben = await messengers.newcomer("ben of the heap")
      const id = await member.succeed("direct", ben.person.userId)
      await member.succeed("send", id, utf8(planted))
      expect(await member.succeed("texts", id)).not.toBe("")
      const search = () => {
        const file = join(folder, `heap-${Date.now()}.hprof`)
        execFileSync("jcmd", [String(member.pid), "GC.heap_dump", file], { stdio: "pipe" })
        const heap = readFileSync(file)
        rmSync(file)
        return [planted, "planted-passphrase-20ef", tokenStart].map(
          (text) =>
            heap.includes(text) ||
            heap.includes(text, 0, "utf16le") ||
            heap.includes(Buffer.from(text, "utf16le").swap16()),
        )
      }
      // The search finds a text that the program holds.
      await member.succeed("hold", utf8(planted))
      expect(search()).toEqual([true, false, false])
      await member.succeed("hold", utf8("-"))
      await member.succeed("close")
      expect(search()).toEqual([false, false, false])
      member.kill()
    },
    300_000,
  )

  test.runIf(isNightly)(
    "is packaged, and the README's chat runs with the jar",
    async () => {
      const jars = await packageJvm()
      expect(jars.map((jar) => /-0\.1\.0(.*)$/.exec(jar)?.[1])).toEqual([".jar", "-javadoc.jar", "-sources.jar"])
      const others = built.classPath.split(":").filter((path) => /protobuf-java|jspecify/.test(path))
      const jarPath = [jars[0], ...others].join(":")
      const described = execFileSync("java", ["-p", jarPath, "-d", "dev.signet.client"], { encoding: "utf8" })
      expect(described).toContain("exports dev.signet.client.v1")
      const chats = await startChats(folder, "-cp", jarPath, writeReadmeProgram(folder))
      try {
        const ada = await chats.start("ada@example.com")
        const adaId = /^signed in as (prn_\S+)$/.exec(await ada.next())?.[1] ?? ""
        expect(await ada.next()).toBe("ready")
        const ben = await chats.start("ben@example.com", adaId, "hello")
        const benId = /^signed in as (prn_\S+)$/.exec(await ben.next())?.[1]
        expect(await ada.next()).toBe(`${benId}: hello`)
      } finally {
        await chats.end()
      }
    },
    900_000,
  )
})
