// Drivers of libsignet with the tests' core, which makes the host do one thing at a time.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { type EffectResult, EffectResultSchema, EffectSchema } from "@signet/proto/host/v1/host"
import type { TargetName } from "../../../clients/native/c/targets.ts"
import { fastTmpdir } from "../fast-tmpdir.ts"
import { type Driver, type HostMode, type NativeOptionsInit, startDriver } from "./driver.ts"
import { buildNative, type Emulator } from "./library.ts"

/** A JSON argument or answer of the tests' core. */
export type Json = number | string | null | { readonly hex: string }
export type Effect = MessageInitShape<typeof EffectSchema>["effect"]
export type Outcome = EffectResult["result"]

export const utf8 = (text: string) => new TextEncoder().encode(text)
export const bytes = (hex: string) => ({ hex })

/** Both have the tests' core; `keychain-driver` has a fake of Apple's frameworks, too. */
type UnitProgram = "unit-driver" | "keychain-driver"

export interface UnitLibrary {
  readonly platform: TargetName | undefined
  readonly emulator: Emulator
  /** The folder of the libraries and programs. */
  readonly programs: string
  /** A folder for the tests. */
  readonly folder: string
  newFolder(): string
  optionsFor(change?: Partial<NativeOptionsInit>): NativeOptionsInit
  open(change?: Partial<NativeOptionsInit>, mode?: HostMode, env?: NodeJS.ProcessEnv): Promise<Driver>
  /** Ends all drivers. @throws Error with the report of a sanitizer. */
  endAll(): Promise<void>
  close(): Promise<void>
}

interface UnitVariant {
  readonly program?: UnitProgram
  /** As in buildNative. */
  readonly platform?: TargetName
  readonly emulator?: Emulator
}

/** @param sanitize As in buildNative. */
export async function openUnitLibrary(
  sanitize?: string,
  { program = "unit-driver", platform, emulator = { command: [] } }: UnitVariant = {},
): Promise<UnitLibrary> {
  const folder = mkdtempSync(join(fastTmpdir(), "signet-unit-"))
  const { folder: programs } = await buildNative(sanitize, platform)
  const drivers: Driver[] = []
  let count = 0
  const newFolder = () => join(folder, String(++count))
  const optionsFor = (change: Partial<NativeOptionsInit> = {}): NativeOptionsInit => ({
    identity: { appId: "app_test" },
    dataFolder: newFolder(),
    box: { case: "passphrase", value: { passphrase: utf8("a passphrase") } },
    ...change,
  })
  const endAll = async () => {
    for (const driver of drivers.splice(0)) {
      if (sanitize === undefined) driver.kill()
      else await endClean(driver)
    }
  }
  return {
    ...{ platform, emulator, programs, folder, newFolder, optionsFor, endAll },
    async open(change, mode, env) {
      const driver = startDriver(programs, program, env, emulator)
      drivers.push(driver)
      await driver.open(optionsFor(change), mode)
      return driver
    },
    async close() {
      await endAll()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Closes the client, and ends its process: a leak or another finding changes the exit code. */
async function endClean(driver: Driver): Promise<void> {
  await driver.close().catch(() => undefined)
  const { code, signal } = await driver.stop()
  if (signal !== "SIGKILL" && code !== 0)
    throw new Error(`the driver ended with ${code ?? signal}:\n${driver.lines.join("\n")}`)
}

/** Calls the tests' core with a text. @returns Its answer. */
export const callCore = async (driver: Driver, method: string, text = ""): Promise<unknown> =>
  JSON.parse(new TextDecoder().decode(await driver.call(method, utf8(text))))

export const primitive = (driver: Driver, ...args: readonly Json[]): Promise<unknown> =>
  callCore(driver, "host", JSON.stringify(args))

/** Makes the core emit an effect. @returns Its outcome, and its pieces in hexadecimal. */
export async function effect(driver: Driver, value: Effect): Promise<{ result: Outcome; pieces: string[] }> {
  const request = toBinary(EffectSchema, create(EffectSchema, { effect: value }))
  const { result, pieces } = JSON.parse(new TextDecoder().decode(await driver.call("effect", request)))
  return { result: fromBinary(EffectResultSchema, new Uint8Array(Buffer.from(result, "hex"))).result, pieces }
}

export const outcome = async (driver: Driver, value: Effect): Promise<Outcome> => (await effect(driver, value)).result
