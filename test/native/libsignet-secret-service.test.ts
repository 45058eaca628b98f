// libsignet's secret box in the real Secret Service of Linux: gnome-keyring on a bus of its own.
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import {
  hasSecretService,
  type SecretService,
  startSecretService,
} from "../../clients/node/secret-box/testing/secret-service.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import type { Driver } from "../support/native/driver.ts"
import { whyNoLibrary } from "../support/native/library.ts"
import { bytes, type Json, openUnitLibrary, outcome, primitive, type UnitLibrary } from "../support/native/unit.ts"

const why =
  whyNoLibrary ?? (hasSecretService ? undefined : "the Secret Service is not tested: dbus or gnome-keyring is missing")
const scope = { app: "app_1", user: "prn_1", device: "0a" }
const box = { case: "secretService", value: {} } as const
/** BoxFailure */
const unavailable = 1
const locked = 3

describe.skipIf(why !== undefined)(why ?? "libsignet's box in the Secret Service", () => {
  const homes = mkdtempSync(join(fastTmpdir(), "signet-keyring-"))
  let library: UnitLibrary
  const services: SecretService[] = []
  beforeAll(async () => {
    library = await openUnitLibrary()
  }, 900_000)
  afterEach(async () => {
    await library?.endAll()
    for (const service of services.splice(0)) await service.stop()
  })
  afterAll(async () => {
    await library?.close()
    rmSync(homes, { recursive: true, force: true })
  })

  async function serviceAt(home: string, password?: string): Promise<NodeJS.ProcessEnv> {
    const service = await startSecretService(join(homes, home), password)
    services.push(service)
    return service.environment
  }
  const hold = (driver: Driver, create = false) => outcome(driver, { case: "boxHold", value: { scope, create } })
  const refusal = (reason: number) => ({ case: "failure", value: { kind: 4, box: reason } })

  test("keeps keys through a restart, and reports a locked store without a prompt", async () => {
    const dataFolder = library.newFolder()
    const first = await library.open({ dataFolder, box }, "none", await serviceAt("home", "correct horse"))
    expect(await hold(first, true)).toMatchObject({ value: { box: 1 } })
    const sealed = (await primitive(first, 14, 1, "purpose", bytes("c0ffee"))) as Json
    const second = await library.open({ dataFolder, box }, "none", services[0]?.environment)
    expect(await hold(second)).toMatchObject({ value: { box: 1 } })
    expect(await primitive(second, 15, 1, "purpose", sealed)).toEqual(bytes("c0ffee"))
    await library.endAll()
    for (const service of services.splice(0)) await service.stop()

    const without = await library.open({ dataFolder, box }, "none", await serviceAt("home"))
    expect(await hold(without)).toMatchObject(refusal(locked))
    expect(await hold(without, true)).toMatchObject(refusal(locked))
    for (const service of services.splice(0)) await service.stop()

    const again = await library.open({ dataFolder, box }, "none", await serviceAt("home", "correct horse"))
    expect(await hold(again)).toMatchObject({ value: { box: 1 } })
    expect(await primitive(again, 15, 1, "purpose", sealed)).toEqual(bytes("c0ffee"))
    await outcome(again, { case: "boxDestroy", value: { scope } })
    expect(await hold(again)).toMatchObject(refusal(6))
  })

  test("falls back to no other store", async () => {
    const home = join(homes, "none")
    const env = {
      HOME: home,
      XDG_RUNTIME_DIR: home,
      XDG_DATA_HOME: home,
      DBUS_SESSION_BUS_ADDRESS: "unix:path=/nonexistent",
      DISPLAY: "",
    }
    const dataFolder = library.newFolder()
    const driver = await library.open({ dataFolder, box }, "none", env)
    expect(await hold(driver, true)).toMatchObject(refusal(unavailable))
    expect(existsSync(home)).toBe(false)
    expect(readdirSync(dataFolder).filter((name) => name.includes("key") && name !== "keys.lock")).toEqual([])
  })
})
