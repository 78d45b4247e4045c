// Compiles folders of TypeScript as `tsc --project` does: a line of stdin is a folder, its
// answer what the compiler has to say, as a line of JSON. One process for all of them: it
// starts once, and reads the library's types once.
import { createInterface } from "node:readline";
import ts from "typescript";

const said = {
  getCanonicalFileName: (name) => name,
  getCurrentDirectory: ts.sys.getCurrentDirectory,
  getNewLine: () => "\n",
};
const library = new Map();

function compile(folder) {
  const fail = (d) => {
    throw new Error(ts.formatDiagnostic(d, said));
  };
  const config = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail };
  const { fileNames, options, errors } = ts.getParsedCommandLineOfConfigFile(`${folder}/tsconfig.json`, {}, config);
  if (fileNames.length === 0) return "there is nothing to compile";
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile;
  host.getSourceFile = (name, ...rest) => {
    if (!name.includes("/node_modules/typescript/lib/")) return read(name, ...rest);
    if (!library.has(name)) library.set(name, read(name, ...rest));
    return library.get(name);
  };
  const program = ts.createProgram({ rootNames: fileNames, options, host, configFileParsingDiagnostics: errors });
  const found = ts.getPreEmitDiagnostics(program);
  return ts.formatDiagnostics([...found, ...program.emit().diagnostics], said);
}

for await (const folder of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = compile(folder);
  } catch (error) {
    answer = String(error.stack);
  }
  console.log(JSON.stringify(answer));
}
