// One variant in a process of its own, which tells the CPU time that it has used whenever it is asked.
import { isVariant, variants } from "./variants.ts"

const [, , name = ""] = process.argv
if (!isVariant(name)) throw new Error(`no variant ${name}`)
const port = await variants[name]()

process.on("message", () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpuMicroseconds: user + system })
})
process.on("disconnect", () => process.exit())
process.send?.({ port })
