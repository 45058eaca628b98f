// A program at a pseudo-terminal with scripted input; python3 provides the terminal.
import { spawn, spawnSync } from "node:child_process"

export const pythonMissing: string | undefined =
  spawnSync("python3", ["-c", "import pty"]).status === 0 ? undefined : "no python3 with pty"

/** Types each answer after its prompt appears; exits with the program's code. */
const script = `
import json, os, pty, select, sys, time
asked = json.load(sys.stdin)
pid, terminal = pty.fork()
if pid == 0:
    os.execve(asked["command"][0], asked["command"], asked["environment"])
screen, answers, deadline = "", asked["answers"], time.time() + 30
while time.time() < deadline:
    ready, _, _ = select.select([terminal], [], [], 0.2)
    if ready:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            break
        if not chunk:
            break
        screen += chunk.decode("utf8", "replace")
    if answers and answers[0][0] in screen:
        os.write(terminal, (answers.pop(0)[1] + "\\r").encode())
else:
    os.kill(pid, 9)
_, status = os.waitpid(pid, 0)
print(json.dumps({"screen": screen, "code": os.waitstatus_to_exitcode(status)}))
`

interface AtTerminal {
  /** All that was on the screen, with what moves the cursor. */
  readonly screen: string
  readonly code: number
}

/** @param answers What is typed once the screen shows a text, in order. */
export async function atTerminal(
  command: readonly string[],
  environment: NodeJS.ProcessEnv,
  answers: readonly (readonly [string, string])[],
): Promise<AtTerminal> {
  const child = spawn("python3", ["-c", script], { stdio: ["pipe", "pipe", "inherit"] })
  child.stdin.end(JSON.stringify({ command, environment, answers }))
  let output = ""
  for await (const chunk of child.stdout) output += String(chunk)
  const { screen, code }: AtTerminal = JSON.parse(output)
  return { screen, code }
}
