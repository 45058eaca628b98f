// Backups, the history of a new device, and pushes with previews, on the JVM with other platforms.
import { createReadStream, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { exportBackup, restoreBackup } from "../../clients/core/messaging/backup/index.ts"
import { grantHistoryByQr, requestHistoryByQr, runHistory } from "../../clients/core/messaging/history/index.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { type Messengers, messengersOn, textsIn } from "../support/messaging/messengers.ts"
import { type BuiltJvm, buildJvm, type JvmMember, startMember, whyNoJvm } from "../support/native/jvm.ts"
import { type JvmClient, jvmClientOn, utf8 } from "../support/native/jvm-client.ts"
import { storyStore } from "../support/postgres.ts"
import { type FakePushProvider, pushSettings, startFakePushProvider } from "../support/push-provider.ts"

/** A peek of a busy machine may reach its time limit, and shows nothing then. It changes nothing, so it is repeated. */
const slow = { interval: 100, timeout: 120_000 }

describe.skipIf(whyNoJvm !== undefined || !isLong)(whyNoJvm ?? "recovery and pushes on the JVM", () => {
  let built: BuiltJvm
  let provider: FakePushProvider
  let server: Deployment
  let messengers: Messengers
  let folder: string
  let client: JvmClient
  const members: JvmMember[] = []
  beforeAll(async () => {
    folder = mkdtempSync(join(fastTmpdir(), "signet-jvm-"))
    built = await buildJvm()
    provider = await startFakePushProvider()
    server = await startDeployment({ store: storyStore, push: pushSettings() })
    messengers = messengersOn(server)
    client = jvmClientOn(server)
  }, 900_000)
  afterAll(async () => {
    for (const member of members) member.kill()
    await messengers?.close()
    await server?.close()
    await provider?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  async function open(name: string): Promise<JvmMember> {
    const member = startMember(built)
    members.push(member)
    // A passphrase would cost each client Argon2id, and a peek has ten seconds.
    await client.openBoxed(member, join(folder, name), "dev.signet.client.FileBox", join(folder, `${name}-keys`))
    return member
  }

  test("restores a backup of Node, and Node restores its backup", async () => {
    const [dan, ben] = [await open("dan"), await messengers.newcomer("ben of the backup")]
    await client.signIn(dan, "dan on the JVM")
    await client.openMessenger(dan)
    const id = await dan.succeed("direct", ben.person.userId)
    await dan.succeed("send", id, utf8("before the backup"))
    await ben.messenger.sync()
    const key = await dan.succeed("recoveryKey")
    expect(key).toMatch(/^([^-\s]{4}-){13}[^-\s]{4}$/)
    const file = join(folder, "jvm.backup")
    expect(Number(await dan.succeed("exportBackup", file, key))).toBe(statSync(file).size)
    expect(readFileSync(file).includes("before the backup")).toBe(false)
    const read = await messengers.open(await server.person("dan on the JVM"))
    expect(await restoreBackup(read.messenger, createReadStream(file), { recoveryKey: key })).toMatchObject({
      conversations: 1,
    })
    expect(await textsIn(read, id)).toEqual(["before the backup"])

    const { recoveryKey, bytes } = await exportBackup(ben.messenger)
    const other = join(folder, "node.backup")
    for await (const piece of bytes) writeFileSync(other, piece, { flag: "a" })
    const second = await open("ben")
    await client.signIn(second, "ben of the backup")
    await client.openMessenger(second)
    expect(await second.ask("restoreBackup", other, key)).toBe("failed MESSAGING BACKUP_KEY_WRONG")
    const [entries, imported] = (await second.succeed("restoreBackup", other, recoveryKey)).split(" ")
    expect(Number(entries)).toBeGreaterThan(0)
    expect(imported).toBe(entries)
    expect(await client.texts(second, id)).toEqual(["before the backup"])
    for (const member of [dan, second]) member.kill()
  }, 300_000)

  test("gets the history as a new device, and hands it to one", async () => {
    const [gus, ben] = [await open("gus"), await messengers.newcomer("ben of the history")]
    await client.signIn(gus, "gus on the JVM")
    await client.openMessenger(gus)
    const id = await gus.succeed("direct", ben.person.userId)
    await gus.succeed("send", id, utf8("an old message"))
    await ben.messenger.sync()

    const fresh = await messengers.open(await server.person("gus on the JVM"))
    for (let round = 0; round < 2; round++) {
      await gus.succeed("sync")
      await fresh.messenger.sync()
    }
    const { qr } = await requestHistoryByQr(fresh.messenger)
    await gus.succeed("grantHistory", qr)
    await Promise.all([gus.succeed("runHistory"), runHistory(fresh.messenger)])
    expect(await textsIn(fresh, id)).toEqual(["an old message"])

    const second = await open("ben-second")
    await client.signIn(second, "ben of the history")
    await client.openMessenger(second)
    for (let round = 0; round < 2; round++) {
      await ben.messenger.sync()
      await second.succeed("sync")
    }
    await grantHistoryByQr(ben.messenger, await second.succeed("requestHistory"))
    await Promise.all([second.succeed("runHistory"), runHistory(ben.messenger)])
    expect(await client.texts(second, id)).toEqual(["an old message"])
    for (const member of [gus, second]) member.kill()
  }, 300_000)

  test("is woken up, shows a preview while the app is closed and while it runs, and receives each message once", async () => {
    const [eli, ben] = [await open("eli"), await messengers.newcomer("ben of the push")]
    await client.signIn(eli, "eli on the JVM")
    await client.openMessenger(eli)
    const id = await eli.succeed("direct", ben.person.userId)
    await eli.succeed("send", id, utf8("hello"))
    await ben.messenger.sync()
    expect(await eli.succeed("pushSettings")).toContain("PUSH_ENDPOINT_KIND_WEB_PUSH")
    expect(await eli.succeed("setPush", `${provider.url}/eli`)).toBe("16")
    await eli.succeed("close")
    eli.kill()
    await ben.messenger.send(id, utf8("wake up"))
    const pushes = async () => {
      await ben.messenger.sync()
      return provider.received.filter(({ path }) => path === "/eli").length
    }
    await expect.poll(pushes, { interval: 500, timeout: 60_000 }).toBe(1)

    const extension = await open("eli")
    await expect.poll(() => client.peek(extension), slow).toEqual(["PEEK_OUTCOME_PREVIEWS", "wake up"])
    const app = await open("eli")
    await client.openMessenger(app)
    await app.succeed("sync")
    await ben.messenger.send(id, utf8("to the running app"))
    await expect.poll(() => client.peek(extension), slow).toEqual(["PEEK_OUTCOME_PREVIEWS", "to the running app"])
    await app.succeed("send", id, utf8("an answer"))
    await app.succeed("sync")
    expect(await client.texts(app, id)).toEqual(["hello", "wake up", "to the running app", "an answer"])
    await expect.poll(() => client.peek(extension), slow).toEqual(["PEEK_OUTCOME_PREVIEWS"])
    expect(await app.succeed("deletePush")).toBe("0")
    for (const member of [app, extension]) member.kill()
    expect(members.map((member) => member.errors())).toEqual(members.map(() => ""))
  }, 300_000)
})
