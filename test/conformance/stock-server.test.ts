// The suite against a server with rate limits, as `npm start` runs it.

import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { expect, test } from "vitest"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { newDevice } from "../support/messaging/device.ts"
import { patient } from "../support/messaging/patient.ts"
import { developmentWorld } from "../support/messaging/world.ts"
import { startProgram } from "../support/program.ts"
import { networksTo } from "./networks.ts"

test.runIf(isLong)(
  "more people sign in than one network may, and a limit of hours is returned",
  { timeout: 300_000 },
  async () => {
    const folder = mkdtempSync(join(fastTmpdir(), "signet-stock-"))
    const program = await startProgram({ SIGNET_PROFILE: "development", SIGNET_DATA: folder, PORT: "0" })
    try {
      const waits: number[] = []
      const waitForLimit = async (seconds: number) => {
        waits.push(seconds)
        throw new Error("limited")
      }
      const nextAddress = await networksTo(program.url)
      const world = developmentWorld(program.url, { nextAddress, waitForLimit })
      // One network may sign in 30 times a minute.
      for (let i = 0; i < 32; i++) await world.newUser()
      expect(waits).toEqual([])

      // One person may register 10 devices a day.
      const one = await world.newUser()
      const transport = patient(createGrpcTransport({ baseUrl: program.url }), waitForLimit)
      const registering = (async () => {
        for (;;) await (await newDevice(transport, await one.again())).register()
      })()
      await expect(registering).rejects.toThrow("limited")
      expect(waits).toEqual([expect.any(Number)])
      expect(waits[0]).toBeGreaterThan(3_600)
    } finally {
      await program.end("SIGTERM")
      rmSync(folder, { recursive: true, force: true })
    }
  },
)
