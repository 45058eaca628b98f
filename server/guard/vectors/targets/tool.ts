import { guardTool, type ToolCall } from "../../tool.ts"
import { outcomeOf, type Target } from "./target.ts"

const codes: Readonly<Record<number, number>> = { 401: 3, 403: 4, 503: 10, 500: 1 }

export const toolTarget: Target = (world) => {
  let caller: string | null = null
  const tool = guardTool(world, (_: ToolCall, who) => {
    caller = who?.principal.id ?? null
    return 0
  })
  return async ({ authorization, request }) => {
    const lines: string[] = []
    const code = await tool({
      token: authorization?.replace(/^Bearer /, ""),
      args: new Map(Object.entries(request)),
      json: true,
      complain: (line) => lines.push(line),
    })
    if (code === 0) return { allow: true, caller }
    const outcome = outcomeOf(JSON.parse(lines.join("\n")))
    if (codes[outcome.status] !== code) throw new Error(`exit code ${code} for ${outcome.status}`)
    return outcome
  }
}
