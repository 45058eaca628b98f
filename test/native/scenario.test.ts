// One scenario for the library of every platform: the steps of scenario.json, which none of them may lack.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { type LosingProxy, startLosingProxy } from "../support/losing-proxy.ts"
import { type Messengers, messengersOn } from "../support/messaging/messengers.ts"
import { pageOrigins } from "../support/native/scenario/chromium.ts"
import { type Device, type DeviceOptions, stepNames, stepOf } from "../support/native/scenario/client.ts"
import { scenarioPlatforms } from "../support/native/scenario/platforms.ts"
import { scenarioLines, startScenario } from "../support/native/scenario/run.ts"
import { storyStore } from "../support/postgres.ts"

describe.runIf(isLong)("the scenario of all platforms", () => {
  let server: Deployment
  let proxy: LosingProxy
  let messengers: Messengers
  let folder: string
  let plays = 0
  beforeAll(async () => {
    folder = mkdtempSync(join(fastTmpdir(), "signet-scenario-"))
    server = await startDeployment({ store: storyStore, settings: { allowedOrigins: pageOrigins } })
    proxy = await startLosingProxy(server.messagingUrl)
    messengers = messengersOn(server)
  }, 120_000)
  afterAll(async () => {
    await messengers?.close()
    await proxy?.close()
    await server?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** @returns The steps that the platform's devices have run. */
  async function play(name: string, around = (device: Device) => device): Promise<readonly string[]> {
    const build = scenarioPlatforms[name]?.build ?? expect.fail(`no platform "${name}"`)
    const startOn = await build((end) => onTestFinished(end))
    const start = async (options: DeviceOptions) => around(await startOn(options))
    const place = { folder: mkdtempSync(join(folder, "platform-")), name: `${name} ${++plays}` }
    const scenario = await startScenario({ server, messengers, proxy, start, ...place })
    try {
      for (const line of scenarioLines) {
        await scenario.run(line).catch((error: unknown) => {
          throw new Error(`${name} fails at ${JSON.stringify(line)}: ${String(error)}`, { cause: error })
        })
      }
      return [...scenario.performed].sort()
    } finally {
      await scenario.close()
    }
  }

  for (const [name, { why }] of Object.entries(scenarioPlatforms)) {
    test.skipIf(why !== undefined)(
      why ?? `${name} passes all steps`,
      async () => {
        expect(await play(name)).toEqual(stepNames)
      },
      900_000,
    )
  }

  test("a platform that lacks a step fails", async () => {
    const lacking = (device: Device): Device => ({
      ...device,
      step: (name, args) => (name === "send" ? stepOf({}, name, args) : device.step(name, args)),
    })
    await expect(play("Node", lacking)).rejects.toThrow('the platform lacks the step "send"')
  }, 900_000)
})
