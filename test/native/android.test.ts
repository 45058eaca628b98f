// The client for Android under Robolectric: its secret box with a fake Keystore, a conversation under that box, and the AAR.
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { assembleAar } from "../../clients/android/build.ts"
import { startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { messengersOn, textsIn } from "../support/messaging/messengers.ts"
import { type BuiltAndroid, buildAndroid, whyNoAndroid } from "../support/native/android.ts"
import { type JvmMember, javaArguments, startMember } from "../support/native/jvm.ts"
import { jvmClientOn, utf8 } from "../support/native/jvm-client.ts"
import { storyStore } from "../support/postgres.ts"

const planted = "from the phone, planted-a81c22"

describe.skipIf(whyNoAndroid !== undefined)(whyNoAndroid ?? "the client for Android, under Robolectric", () => {
  let built: BuiltAndroid
  let folder: string
  const members: JvmMember[] = []
  beforeAll(async () => {
    folder = mkdtempSync(join(fastTmpdir(), "signet-android-"))
    built = await buildAndroid()
  }, 900_000)
  afterAll(() => {
    for (const member of members) member.kill()
    rmSync(folder, { recursive: true, force: true })
  })

  test("passes its own tests", () => {
    const tests = ["dev.signet.client.RunTests", "dev.signet.client.android.KeystoreBoxTest"]
    const args = javaArguments(built, `-Djava.library.path=${built.natives}`, ...tests)
    // Android has no such property: the library is found by its name.
    const onAndroid = args.filter((arg) => !arg.startsWith("-Ddev.signet.client.natives="))
    const output = execFileSync("java", onAndroid, { encoding: "utf8" })
    expect(output).toMatch(/^\d+\n$/)
    expect(Number(output)).toBeGreaterThanOrEqual(14)
  })

  test.runIf(isLong)(
    "continues a conversation under the Keystore, and not on another device",
    async () => {
      const server = await startDeployment({ store: storyStore })
      const messengers = messengersOn(server)
      const client = jvmClientOn(server)
      const open = async (device: string) => {
        const member = startMember(built, "dev.signet.client.RunTests", "dev.signet.client.android.MemberOnAndroid")
        members.push(member)
        const keys = join(folder, device)
        await client.openBoxed(member, join(folder, "data"), "dev.signet.client.android.FakePhone", keys)
        return member
      }
      try {
        const ann = await open("phone")
        await client.signIn(ann, "ann on a phone")
        const device = await client.openMessenger(ann)
        const ben = await messengers.newcomer("ben of the phone")
        const id = await ann.succeed("direct", ben.person.userId)
        await ann.succeed("send", id, utf8(planted))
        await ben.messenger.sync()
        await ben.messenger.send(id, utf8("to the phone"))
        expect(await textsIn(ben, id)).toEqual([planted, "to the phone"])
        await ann.succeed("close")

        // The data of a backup, on another device.
        const restored = await open("another phone")
        expect(await restored.succeed("ready")).toBe("STORE_FAILED")
        expect(await restored.succeed("refusal")).toBe("KEY_INVALIDATED")
        await restored.succeed("close")

        const again = await open("phone")
        expect(await again.succeed("ready")).toBe("signedIn")
        expect(await client.openMessenger(again)).toBe(device)
        await again.succeed("sync")
        expect(await client.texts(again, id)).toEqual([planted, "to the phone"])
        await again.succeed("close")
        expect(members.map((member) => member.errors())).toEqual(members.map(() => ""))
      } finally {
        await messengers.close()
        await server.close()
      }
    },
    300_000,
  )

  test.runIf(isLong)("is assembled as an AAR, which has no library of a desktop", () => {
    const file = assembleAar(built.classes, folder)
    const list = execFileSync("jar", ["tf", file], { encoding: "utf8" }).split("\n")
    expect(list).toEqual(
      expect.arrayContaining(["AndroidManifest.xml", "classes.jar", "jni/", "proguard.txt", "R.txt"]),
    )
    execFileSync("jar", ["xf", file], { cwd: folder })
    expect(readFileSync(join(folder, "AndroidManifest.xml"), "utf8")).toContain('package="dev.signet.client.android"')
    const classes = execFileSync("jar", ["tf", "classes.jar"], { cwd: folder, encoding: "utf8" })
    expect(classes).toContain("dev/signet/client/android/KeystoreBox.class")
    // The rules name what exists.
    const described = execFileSync("javap", ["-p", "-cp", built.classPath, "dev.signet.client.Native"], {
      encoding: "utf8",
    })
    expect(described).toContain("static byte[] box(")

    const natives = join(folder, "natives")
    mkdirSync(join(natives, "x86_64"), { recursive: true })
    writeFileSync(join(natives, "x86_64/libsignet-jni.so"), readFileSync(join(built.natives, "libsignet-jni.so")))
    expect(() => assembleAar(built.classes, folder, natives)).toThrow("needs the C library of a desktop")
  })
})
