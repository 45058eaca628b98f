// The scenario's devices on workerd: each is a process with one Durable Object.
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { buildCoreWorker, startCoreWorker } from "../workers.ts"
import { pathOf, type ScenarioPlatform } from "./client.ts"
import type { WorkersAnswer, WorkersStep } from "./workers-device.ts"

export const onWorkers: ScenarioPlatform = {
  why: undefined,
  async build() {
    const built = await buildCoreWorker(join(import.meta.dirname, "workers-device.ts"))
    return async (options) => {
      const worker = await startCoreWorker(built, {
        texts: { OPTIONS: JSON.stringify(options) },
        object: { binding: "DEVICE", className: "Device" },
        persist: options.folder,
      })
      return {
        async step(step, args) {
          const path = pathOf(step, args)
          const isGiven = path !== undefined && existsSync(path)
          const asked: WorkersStep = { step, args, ...(isGiven && { file: readFileSync(path).toString("base64") }) }
          const response = await worker.post("/", asked)
          if (!response.ok) throw new Error(await response.text())
          const answer = (await response.json()) as WorkersAnswer
          if ("failed" in answer) throw Object.assign(new Error(answer.failed.message), answer.failed)
          if (path !== undefined && !isGiven) writeFileSync(path, Buffer.from(answer.file ?? "", "base64"))
          return answer.ok
        },
        kill: worker.kill,
      }
    }
  },
}
