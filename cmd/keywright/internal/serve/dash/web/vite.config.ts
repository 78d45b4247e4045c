import { writeFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

// Writes beside the built files which packages of others have code in them: the SBOM of a release lists these. A module
// whose name begins with a zero byte is one that the named tool adds.
const builtWith: Plugin = {
  name: "built-with",
  writeBundle({ dir }, bundle) {
    const found = new Set<string>();
    for (const file of Object.values(bundle)) {
      for (const id of Object.keys(file.type === "chunk" ? file.modules : {})) {
        const path = /.*(node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id.replace("\0", "node_modules/"))?.[0];
        if (path) found.add(path.slice(path.indexOf("node_modules/"), -1));
      }
    }
    writeFileSync(`${dir}/../built-with`, [...found].sort().join("\n") + "\n");
  },
};

// Assets have a digest in their names: the server lets browsers keep them for ever.
export default defineConfig({
  base: "./",
  plugins: [builtWith],
  build: {
    outDir: "../dist",
    emptyOutDir: true,
    target: "es2022",
    cssTarget: ["chrome123", "firefox121", "safari17.5"],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    sourcemap: false,
    rolldownOptions: {
      output: {
        entryFileNames: "assets/app-[hash].js",
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
      },
    },
  },
});
