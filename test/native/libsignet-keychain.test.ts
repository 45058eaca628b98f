// libsignet's secret box in the Keychain of macOS and iOS, against a fake of Apple's frameworks that has their quirks.
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { isNightly } from "../support/effort.ts"
import type { Driver, NativeOptionsInit } from "../support/native/driver.ts"
import { whyNoLibrary } from "../support/native/library.ts"
import { bytes, type Json, openUnitLibrary, outcome, primitive, type UnitLibrary } from "../support/native/unit.ts"

const scope = { app: "app_1", user: "prn_1", device: "0a" }
/** BoxFailure */
const reason = { unavailable: 1, locked: 3, missing: 6 }
const whenUnlocked = "aku"
const afterFirstUnlock = "cku"

describe.skipIf(whyNoLibrary !== undefined).for(isNightly ? ["nothing", "address,undefined"] : ["address,undefined"])(
  whyNoLibrary ?? "libsignet's box in a fake Keychain, sanitized by %s",
  (sanitize) => {
    let library: UnitLibrary
    const drivers: Driver[] = []
    beforeAll(async () => {
      library = await openUnitLibrary(sanitize === "nothing" ? undefined : sanitize, { program: "keychain-driver" })
    }, 900_000)
    afterEach(async () => {
      // The fake reports objects that are not released when its process ends.
      for (const driver of drivers.splice(0)) {
        await driver.close()
        expect([await driver.stop(), driver.lines]).toEqual([{ code: 0, signal: null }, []])
      }
    })
    afterAll(() => library?.close())

    /** A device, whose Keychain is a folder. */
    function newDevice() {
      const folder = library.newFolder()
      mkdirSync(folder)
      const state = (name: string) => join(folder, name)
      return {
        state,
        set: (name: string) => writeFileSync(state(name), ""),
        unset: (name: string) => rmSync(state(name)),
        items: () =>
          existsSync(state("items"))
            ? readFileSync(state("items"), "utf8")
                .trimEnd()
                .split("\n")
                .map((line) => line.split("\t"))
            : [],
        async start(value: { afterFirstUnlock?: boolean; accessGroup?: string } = {}, change: NativeOptionsInit = {}) {
          const box = { case: "keychain", value } as const
          const driver = await library.open({ box, ...change }, "none", { SIGNET_FAKE_KEYCHAIN: folder })
          drivers.push(driver)
          return driver
        },
      }
    }
    const hold = (driver: Driver, create = false) => outcome(driver, { case: "boxHold", value: { scope, create } })
    const held = { value: { box: 1 } }
    const refusal = (box: number) => ({ case: "failure", value: { kind: 4, box } })

    test("keeps keys on this device only, not synchronized, in the data protection Keychain", async () => {
      const device = newDevice()
      const first = await device.start()
      expect(await hold(first)).toMatchObject(refusal(reason.missing))
      expect(await hold(first, true)).toMatchObject(held)
      const sealed = (await primitive(first, 14, 1, "purpose", bytes("c0ffee"))) as Json
      const [keychain, group, synchronizable, service, account, accessible] = device.items()[0] ?? []
      expect([keychain, group, synchronizable, accessible]).toEqual(["protected", "TEAM.app", "0", whenUnlocked])
      expect([service, account]).toEqual(["dev.signet.keys", '[null,"app_1","prn_1","0a"]'])
      const again = await device.start()
      expect(await hold(again)).toMatchObject(held)
      expect(await primitive(again, 15, 1, "purpose", sealed)).toEqual(bytes("c0ffee"))
      await outcome(again, { case: "boxRotate", value: { scope } })
      expect(device.items()).toHaveLength(1)
      expect(await primitive(again, 15, 1, "purpose", sealed)).toEqual(bytes("c0ffee"))
      await outcome(again, { case: "boxDestroy", value: { scope } })
      await outcome(again, { case: "boxDestroy", value: { scope } })
      expect(device.items()).toEqual([[""]])
      expect(await hold(again)).toMatchObject(refusal(reason.missing))
    })

    test("reports a locked device, and creates no second key there", async () => {
      const device = newDevice()
      expect(await hold(await device.start(), true)).toMatchObject(held)
      const before = device.items()
      device.set("locked")
      const driver = await device.start()
      expect(await hold(driver)).toMatchObject(refusal(reason.locked))
      expect(await hold(driver, true)).toMatchObject(refusal(reason.locked))
      expect(device.items()).toEqual(before)
      device.unset("locked")
      expect(await hold(driver)).toMatchObject(held)
      const empty = newDevice()
      empty.set("locked")
      expect(await hold(await empty.start(), true)).toMatchObject(refusal(reason.locked))
    })

    test("reads keys on a locked device after the first unlock, if the app chose so", async () => {
      const device = newDevice()
      const sealed = await (async () => {
        const driver = await device.start()
        await hold(driver, true)
        return (await primitive(driver, 14, 1, "purpose", bytes("c0ffee"))) as Json
      })()
      // A later version of the app chooses: the item's accessibility follows at the next read.
      expect(await hold(await device.start({ afterFirstUnlock: true }))).toMatchObject(held)
      expect(device.items()[0]?.[5]).toBe(afterFirstUnlock)
      device.set("locked")
      const driver = await device.start({ afterFirstUnlock: true })
      expect(await hold(driver)).toMatchObject(held)
      expect(await primitive(driver, 15, 1, "purpose", sealed)).toEqual(bytes("c0ffee"))
      device.set("before-first-unlock")
      expect(await hold(driver)).toMatchObject(refusal(reason.locked))
    })

    test("shares keys in an access group, and refuses a program without the entitlement", async () => {
      const device = newDevice()
      const driver = await device.start({ accessGroup: "TEAM.shared" })
      expect(await hold(driver, true)).toMatchObject(held)
      expect(device.items()[0]?.[1]).toBe("TEAM.shared")
      expect(await hold(await device.start())).toMatchObject(refusal(reason.missing))
      const other = await device.start({ accessGroup: "OTHER.shared" })
      expect(await hold(other, true)).toMatchObject(refusal(reason.unavailable))
      device.set("no-entitlement")
      expect(await hold(await device.start(), true)).toMatchObject(refusal(reason.unavailable))
      expect(device.items()).toHaveLength(1)
    })

    test("adopts the keys that another program stored first", async () => {
      const [device, other] = [newDevice(), newDevice()]
      const theirs = await other.start()
      await hold(theirs, true)
      const sealed = (await primitive(theirs, 14, 1, "purpose", bytes("c0ffee"))) as Json
      copyFileSync(other.state("items"), device.state("late-items"))
      const driver = await device.start()
      expect(await hold(driver, true)).toMatchObject(held)
      expect(device.items()).toEqual(other.items())
      expect(await primitive(driver, 15, 1, "purpose", sealed)).toEqual(bytes("c0ffee"))
    })

    test("has no key after the data folder is restored on another device", async () => {
      const dataFolder = library.newFolder()
      await hold(await newDevice().start({}, { dataFolder }), true)
      const driver = await newDevice().start({}, { dataFolder })
      expect(await hold(driver)).toMatchObject(refusal(reason.missing))
    })
  },
)

describe.skipIf(whyNoLibrary !== undefined)(whyNoLibrary ?? "libsignet on Linux", () => {
  test("refuses the Keychain's box", async () => {
    const library = await openUnitLibrary()
    const opened = library.open({ box: { case: "keychain", value: {} } })
    await expect(opened).rejects.toMatchObject({ status: -5, reason: "SECURE_STORE_UNAVAILABLE" })
    await library.close()
  }, 900_000)
})
