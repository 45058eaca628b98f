import { QueryClientProvider } from "@tanstack/react-query"
import { createRoot } from "react-dom/client"
import { queries } from "./queries.ts"
import { Root } from "./root.tsx"
import { loadSettings } from "./settings.ts"
import { t } from "./text/frame.ts"

const place = document.getElementById("root")
if (place === null) throw new Error("the page has no #root")
const root = createRoot(place)
try {
  const settings = await loadSettings()
  root.render(
    <QueryClientProvider client={queries}>
      <Root settings={settings} />
    </QueryClientProvider>,
  )
} catch {
  root.render(<p role="alert">{t.unreachable}</p>)
}
