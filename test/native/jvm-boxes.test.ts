// The boxes of desktops for the JVM: contract-tested with fakes of the system libraries, never run on Windows or macOS.
import { spawnSync } from "node:child_process"
import { beforeAll, describe, expect, test } from "vitest"
import { whyNoJvm } from "../support/native/jvm.ts"
import { type BuiltBoxes, buildBoxes } from "../support/native/jvm-boxes.ts"

describe.skipIf(whyNoJvm !== undefined)(whyNoJvm ?? "the boxes of desktops for the JVM", () => {
  let built: BuiltBoxes
  beforeAll(async () => {
    built = await buildBoxes()
  }, 900_000)

  test("pass their own tests, and release and wipe what the systems' libraries return", () => {
    const tests = ["dev.signet.client.boxes.DpapiBoxTest", "dev.signet.client.boxes.KeychainBoxTest"]
    // Without -Xcheck:jni, whose checks JNA does not pass.
    const args = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", ...built.options, "-cp", built.classPath]
    const { stdout, stderr } = spawnSync("java", [...args, "dev.signet.client.RunTests", ...tests], {
      encoding: "utf8",
    })
    // The fakes report there, when the program ends, what is not released.
    expect(stderr).toBe("")
    expect(stdout).toMatch(/^\d+\n$/)
    expect(Number(stdout)).toBeGreaterThanOrEqual(31)
  }, 300_000)
})
