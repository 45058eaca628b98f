import { createRoot } from "react-dom/client"
import { Root } from "./root.tsx"
import { loadSettings } from "./settings.ts"
import { t } from "./text/frame.ts"

const place = document.getElementById("root")
if (place === null) throw new Error("the page has no #root")
const root = createRoot(place)
try {
  const settings = await loadSettings()
  root.render(<Root settings={settings} />)
} catch {
  root.render(<p role="alert">{t.unreachable}</p>)
}
