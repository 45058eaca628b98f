import { createRoot } from "react-dom/client"
import { loadSettings } from "../settings.ts"
import { t } from "../text/chat.ts"
import { ChatRoot } from "./chat-root.tsx"

const place = document.getElementById("root")
if (place === null) throw new Error("the page has no #root")
const root = createRoot(place)
try {
  root.render(<ChatRoot settings={await loadSettings()} />)
} catch {
  root.render(<p role="alert">{t.unreachable}</p>)
}
