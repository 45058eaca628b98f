import { createRoot } from "react-dom/client"
import { base } from "../router.tsx"
import { loadSettings } from "../settings.ts"
import { t } from "../text/chat.ts"
import { ChatRoot } from "./chat-root.tsx"

const place = document.getElementById("root")
if (place === null) throw new Error("the page has no #root")
const root = createRoot(place)
// The chat opens again without a connection. A browser without service workers, or a refusal, costs only that.
navigator.serviceWorker?.register(`${base}/chat/offline.js`, { scope: `${base}/chat` }).catch(() => undefined)
try {
  root.render(<ChatRoot settings={await loadSettings()} />)
} catch {
  root.render(<p role="alert">{t.unreachable}</p>)
}
