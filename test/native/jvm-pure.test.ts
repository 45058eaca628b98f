// The client for the JVM without libsignet: its own tests, published answers, a conversation with Node, and the data folder
// of libsignet.
import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong, isNightly } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { type Messengers, messengersOn, textsIn } from "../support/messaging/messengers.ts"
import {
  type BuiltTests,
  buildJvm,
  type JvmMember,
  javaArguments,
  startMember,
  whyNoJvm,
} from "../support/native/jvm.ts"
import { type JvmClient, jvmClientOn, utf8 } from "../support/native/jvm-client.ts"
import { buildPureJvm, whyNoPureJvm } from "../support/native/jvm-pure.ts"
import { primitiveVectors } from "../support/native/primitive-vectors.ts"
import { storyStore } from "../support/postgres.ts"

const planted = "from Java alone, planted-8c41f0"
const passphrase = "planted-passphrase-7be2"
/** The first bytes of a JWT's header, `{"alg":"`. */
const tokenStart = "eyJhbGciOi"
const tests = ["dev.signet.client.ClientTest", "dev.signet.client.pure.PureHostTest"]

type VectorValue = (typeof primitiveVectors)[number][2]

function wordOf(value: VectorValue): string {
  if (value === null) return "-"
  if (typeof value === "number") return `n${value}`
  return typeof value === "string" ? `t${textHex(value)}` : `b${value.hex}`
}

/** UTF-8 in hexadecimal. The engine encodes a lone surrogate in three bytes. */
const textHex = (text: string) =>
  [...text].map((c) => (c === "\ud800" ? "eda080" : Buffer.from(c).toString("hex"))).join("")

describe.skipIf(whyNoPureJvm !== undefined || !isLong)(whyNoPureJvm ?? "the JVM without libsignet", () => {
  let built: BuiltTests
  let server: Deployment
  let messengers: Messengers
  let folder: string
  let client: JvmClient
  const members: JvmMember[] = []
  beforeAll(async () => {
    folder = mkdtempSync(join(fastTmpdir(), "signet-jvm-pure-"))
    built = await buildPureJvm()
    server = await startDeployment({ store: storyStore })
    messengers = messengersOn(server)
    client = jvmClientOn(server)
  }, 900_000)
  afterAll(async () => {
    for (const member of members) member.kill()
    await messengers?.close()
    await server?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  async function open(name: string, { secret = passphrase, jvm = built }: { secret?: string; jvm?: BuiltTests } = {}) {
    const member = startMember(jvm)
    members.push(member)
    const words = [utf8(secret), server.app.id, server.url, server.audience]
    expect(await member.succeed("open", join(folder, name), ...words)).toBe("SignetClient[open]")
    return member
  }

  test("gives the published answers of the host's primitives", () => {
    const input = primitiveVectors.map(([, args]) => args.map(wordOf).join(" ")).join("\n")
    const program = javaArguments(built, "dev.signet.client.pure.PrimitiveLines")
    const answers = execFileSync("java", program, { input, encoding: "utf8" }).trimEnd().split("\n")
    expect(primitiveVectors.map(([name], i) => [name, answers[i]])).toEqual(
      primitiveVectors.map(([name, , answer]) => [name, wordOf(answer)]),
    )
  }, 120_000)

  test("writes to Node and reads from it, continues from its folder, and leaves nothing in its heap", async () => {
    const ann = await open("ann")
    await client.signIn(ann, "ann in Java")
    const device = await client.openMessenger(ann)
    const ben = await messengers.newcomer("ben in Node")
    const id = await ann.succeed("direct", ben.person.userId)
    await ann.succeed("send", id, utf8(planted))
    await ben.messenger.sync()
    await ben.messenger.send(id, utf8("from Node"))
    await ann.succeed("sync")
    expect(await client.texts(ann, id)).toEqual([planted, "from Node"])
    expect(await textsIn(ben, id)).toEqual([planted, "from Node"])
    expect(await ann.succeed("events")).toContain("ENTRY")
    const stored = readdirSync(join(folder, "ann")).map((name) => readFileSync(join(folder, "ann", name)))
    expect(stored.some((bytes) => bytes.includes(planted))).toBe(false)

    await ann.succeed("follow")
    const secrets = [planted, passphrase, tokenStart]
    expect(heapHas(ann, secrets)).toContain(true)
    expect(await ann.succeed("close")).toBe("SignetClient[closed]")
    expect(await ann.ask("followed")).toBe("failed HOST CLOSED")
    // Java ends the connections of an HTTP client, which hold a token, within seconds.
    await expect.poll(() => heapHas(ann, secrets), { timeout: 60_000, interval: 2_000 }).toEqual([false, false, false])
    ann.kill()

    const again = await open("ann")
    expect(await again.succeed("ready")).toBe("signedIn")
    expect(await client.openMessenger(again)).toBe(device)
    await ben.messenger.send(id, utf8("after the restart"))
    await again.succeed("sync")
    expect(await client.texts(again, id)).toEqual([planted, "from Node", "after the restart"])
    again.kill()
    expect(members.map((member) => member.errors())).toEqual(members.map(() => ""))
  }, 600_000)

  /** Searches a dump of the reachable objects, in both encodings of texts. */
  function heapHas(member: JvmMember, texts: readonly string[]): boolean[] {
    const file = join(folder, `heap-${Date.now()}.hprof`)
    execFileSync("jcmd", [String(member.pid), "GC.heap_dump", file], { stdio: "pipe" })
    const heap = readFileSync(file)
    rmSync(file)
    return texts.map((text) => heap.includes(text) || heap.includes(text, 0, "utf16le"))
  }

  describe.skipIf(!isNightly)("at length", () => {
    test("passes its own tests, and those of the client", () => {
      const output = execFileSync("java", javaArguments(built, "dev.signet.client.RunTests", ...tests), {
        encoding: "utf8",
      })
      expect(output).toMatch(/^\d+\n$/)
      expect(Number(output)).toBeGreaterThanOrEqual(13)
    }, 600_000)

    test("refuses a wrong passphrase and a damaged store, and deletes nothing", async () => {
      const dan = await open("dan")
      await client.signIn(dan, "dan in Java")
      const device = await client.openMessenger(dan)
      await dan.succeed("close")
      dan.kill()
      const wrong = await open("dan", { secret: "wrong horse" })
      expect(await wrong.succeed("ready")).toBe("STORE_FAILED")
      wrong.kill()

      const file = join(folder, "dan/signet.db")
      const whole = readFileSync(file)
      writeFileSync(file, whole.fill(0x5a, 200, 4096))
      const damaged = startMember(built)
      const words = [utf8(passphrase), server.app.id, server.url, server.audience]
      expect(await damaged.ask("open", join(folder, "dan"), ...words)).toBe("failed MESSAGING STORE_UNAVAILABLE")
      damaged.kill()
      expect(device).not.toBe("")
    }, 600_000)

    test("two processes share a folder: one device, and each reads what the other wrote", async () => {
      const one = await open("eve")
      await client.signIn(one, "eve in Java")
      const device = await client.openMessenger(one)
      const two = await open("eve")
      expect(await two.succeed("ready")).toBe("signedIn")
      expect(await client.openMessenger(two)).toBe(device)
      const ben = await messengers.newcomer("ben of the shared folder")
      const id = await one.succeed("direct", ben.person.userId)
      await two.succeed("sync")
      await Promise.all([one.succeed("send", id, utf8("from one")), two.succeed("send", id, utf8("from two"))])
      for (const member of [one, two]) await member.succeed("sync")
      await ben.messenger.sync()
      expect((await textsIn(ben, id)).sort()).toEqual(["from one", "from two"])
      for (const member of [one, two]) expect((await client.texts(member, id)).sort()).toEqual(["from one", "from two"])
      for (const member of [one, two]) member.kill()
    }, 600_000)

    test.skipIf(whyNoJvm !== undefined)(
      "continues from the data folder of libsignet, and libsignet from its own",
      async () => {
        const native = await buildJvm()
        const first = await open("fay", { jvm: native })
        await client.signIn(first, "fay on the JVM")
        const device = await client.openMessenger(first)
        const ben = await messengers.newcomer("ben of fay")
        const id = await first.succeed("direct", ben.person.userId)
        await first.succeed("send", id, utf8("with libsignet"))
        await first.succeed("close")
        first.kill()
        const second = await open("fay")
        expect(await client.openMessenger(second)).toBe(device)
        await second.succeed("send", id, utf8("without libsignet"))
        await second.succeed("close")
        second.kill()
        const third = await open("fay", { jvm: native })
        expect(await client.openMessenger(third)).toBe(device)
        await third.succeed("send", id, utf8("with it again"))
        await ben.messenger.sync()
        expect(await textsIn(ben, id)).toEqual(["with libsignet", "without libsignet", "with it again"])
        third.kill()
      },
      600_000,
    )
  })
})
