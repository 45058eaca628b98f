// The platforms that run the scenario. Each device is a process of its own.
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { clientOf } from "@signet/client-native"
import { buildCore } from "../../../../clients/native/build.ts"
import { isNightly } from "../../effort.ts"
import { buildAndroid, whyNoAndroid } from "../android.ts"
import { type NativeOptionsInit, startDriver } from "../driver.ts"
import {
  type BuiltTests,
  buildJvm,
  buildWindowsJvm,
  type JavaProgram,
  javaArguments,
  startJava,
  whyNoJvm,
} from "../jvm.ts"
import { buildPureJvm, whyNoPureJvm } from "../jvm-pure.ts"
import { buildKotlin, whyNoKotlin } from "../kotlin.ts"
import { buildNative, type Emulator, whyNoLibrary, whyNoWindows, wine } from "../library.ts"
import { unpacked } from "../pinned-package.ts"
import { buildJsc, startJsiMember, whyNoJsi } from "../react-native.ts"
import { inChromium } from "./chromium.ts"
import { type Device, type DeviceOptions, type ScenarioPlatform, stepOf } from "./client.ts"
import { lineDevice } from "./line-device.ts"
import { scenarioOverCore } from "./over-core.ts"
import { onWorkers } from "./workers.ts"

const program = join(import.meta.dirname, "node-device.ts")

/** @param command Runs a TypeScript program in the runtime. */
const nodeDevice =
  (kind: "node" | "wasm", runtime: "node" | "bun" | "deno", [command = "", ...flags]: readonly string[]) =>
  async (options: DeviceOptions): Promise<Device> => {
    const device = lineDevice(command, [...flags, program, JSON.stringify({ ...options, kind, runtime })])
    return {
      async step(step, args) {
        const { ok, failed } = JSON.parse(await device.ask(JSON.stringify({ step, args })))
        if (failed !== undefined) throw Object.assign(new Error(failed.message), failed)
        return ok
      },
      kill: device.kill,
    }
  }

const bun = {
  name: "@oven/bun-linux-x64",
  version: "1.4.5",
  integrity: "IWX9BELoGHAUtMonkeSaNaZwXzRk+oDw6Mk+HBFXd3KHYIBNBsIGRupMZPcgNoDbJpLu6gAJjIoIVPZtt1aJ1g==",
}
const deno = {
  name: "@deno/linux-x64-glibc",
  version: "2.9.6",
  integrity: "3md4TKLCuzsLDmfOoC5KN7NAZaxSVkMgm64vg6foD00JBADCpYS2/5QqXfzgnP5ZQz3iLP9vBQJtEgc116OAoQ==",
}
/** Their packages are for this system; the long form downloads them. */
const whyNoRuntimes =
  process.platform === "linux" && process.arch === "x64"
    ? undefined
    : "Bun and Deno do not run: their pinned packages are for linux-x64"

const hexOf = (text: string) => Buffer.from(text).toString("hex")
const textOf = (hex: string) => Buffer.from(hex, "hex").toString()

const libsignetDevice =
  (programs: string, box: NativeOptionsInit["box"] & object, emulator?: Emulator) =>
  async (options: DeviceOptions): Promise<Device> => {
    const driver = startDriver(programs, "driver", undefined, emulator)
    await driver.open({
      identity: {
        ...{ appId: options.appId, authBaseUrl: options.authUrl },
        ...{ providers: ["IDP_A"], audiences: [options.audience] },
      },
      dataFolder: options.folder,
      box,
    })
    const client = scenarioOverCore(clientOf(driver), options)
    return { step: (name, args) => stepOf(client, name, args), kill: async () => driver.kill() }
  }

const javaDevice =
  (start: (folder: string, keys: string, ...words: string[]) => JavaProgram) =>
  async ({ folder, appId, authUrl, audience, messagingUrl, rootKey }: DeviceOptions): Promise<Device> => {
    const java = start(folder, `${folder}-keys`, appId, authUrl, audience, messagingUrl, rootKey)
    return {
      async step(...[name, args]) {
        java.write([name, ...args].map(hexOf).join(" "))
        const [status, ...answer] = (await java.next()).split(" ")
        const [reason, message = ""] = answer
        if (status !== "ok") throw Object.assign(new Error(textOf(message)), { reason })
        return name === "read" || name === "members" ? answer.map(textOf) : answer.map(textOf)[0]
      },
      kill: async () => java.kill(),
    }
  }

/** @param program The class with `main`. */
const javaProgram = (built: BuiltTests, program: string) =>
  javaDevice((...words) => startJava(...javaArguments(built, program, ...words)))

export const scenarioPlatforms: Readonly<Record<string, ScenarioPlatform>> = {
  Node: { why: undefined, build: async () => nodeDevice("node", "node", [process.execPath]) },
  "the core in WebAssembly": {
    why: undefined,
    async build() {
      await buildCore()
      return nodeDevice("wasm", "node", [process.execPath])
    },
  },
  Bun: {
    why: whyNoRuntimes,
    async build() {
      await buildCore()
      return nodeDevice("wasm", "bun", [join(unpacked(bun), "bin/bun")])
    },
  },
  Deno: {
    why: whyNoRuntimes,
    async build() {
      await buildCore()
      const flags = ["run", "--allow-all", "--no-lock", "--node-modules-dir=manual", "--no-check"]
      return nodeDevice("wasm", "deno", [join(unpacked(deno), "deno"), ...flags])
    },
  },
  Chromium: inChromium("wasm"),
  "Chromium, the core in the page": inChromium("direct"),
  "Cloudflare Workers": onWorkers,
  libsignet: {
    why: whyNoLibrary,
    build: async () => {
      const box = { case: "passphrase" as const, value: { passphrase: new TextEncoder().encode("a passphrase") } }
      return libsignetDevice((await buildNative()).folder, box)
    },
  },
  "libsignet on Windows": {
    why: isNightly ? whyNoWindows : "libsignet is not built for Windows: npm run nightly",
    build: async () => {
      const { folder } = await buildNative(undefined, "windows-x64")
      return libsignetDevice(folder, { case: "dpapi", value: {} }, wine)
    },
  },
  "the JVM": {
    why: whyNoJvm,
    build: async () => javaProgram(await buildJvm(), "dev.signet.client.ScenarioDevice"),
  },
  "the JVM on Windows": {
    why: isNightly ? (whyNoJvm ?? whyNoWindows) : "libsignet is not built for Windows: npm run nightly",
    async build() {
      const start = await buildWindowsJvm()
      return javaDevice((folder, _, ...words) => start("dev.signet.client.ScenarioDevice", folder, "dpapi", ...words))
    },
  },
  "the JVM without libsignet": {
    why: whyNoPureJvm,
    build: async () => javaProgram(await buildPureJvm(), "dev.signet.client.ScenarioDevice"),
  },
  "Android, under Robolectric": {
    why: whyNoAndroid,
    async build() {
      const built = await buildAndroid()
      const tests = ["dev.signet.client.RunTests", "dev.signet.client.android.ScenarioOnAndroid"]
      return javaDevice((...words) => {
        const flags = [...built.flags, `-Ddev.signet.client.test.scenario=${words.join("\n")}`]
        return startJava(...javaArguments({ ...built, flags }, ...tests))
      })
    },
  },
  Kotlin: {
    why: whyNoKotlin,
    build: async () => javaProgram(await buildKotlin(), "ScenarioDeviceKt"),
  },
  "React Native": {
    why: whyNoJsi,
    async build() {
      const built = await buildJsc()
      return async ({ folder, appId, authUrl, audience, messagingUrl, rootKey }) => {
        const options = { appId, authBaseUrl: authUrl, providers: ["IDP_A"], audiences: [audience] }
        mkdirSync(folder, { recursive: true })
        const origins = [...new Set([authUrl, messagingUrl])]
        const member = startJsiMember(built, { folder, name: "account", origins })
        await member.ask("open", options)
        const messaging = { baseUrl: messagingUrl, audience, rootKey: [...Buffer.from(rootKey, "hex")] }
        return {
          step: (step, args) =>
            step === "openMessenger" ? member.ask("messenger", messaging) : member.ask("step", { step, args }),
          kill: async () => member.kill(),
        }
      }
    },
  },
}
