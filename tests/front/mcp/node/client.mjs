// Speaks with `dowse mcp` as clients of the TypeScript SDK do, and prints what they get as JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "dowse-tests", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));

const heard = [];
const ask = (name, given) =>
  client.callTool({ name, arguments: given }, undefined, { onprogress: (one) => heard.push(one) });
const tools = await client.listTools();
const found = await ask("query_documents", { query: "restore the database", n: 2 });
const browsed = await ask("browse", {});
const read = await ask("get_document", { references: ["[[restore#Steps]]"] });
const recent = await ask("recent", { n: 1 });
const wrong = await ask("query_documents", { query: "x", project: "nobody" });
const resource = await client.readResource({ uri: found.structuredContent.hits[0].uri });
const prompt = await client.getPrompt({ name: "search_documents", arguments: { question: "How?" } });
console.log(JSON.stringify({ tools, found, browsed, read, recent, wrong, resource, prompt }));
await client.close();
