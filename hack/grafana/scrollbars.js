// The bundler takes the whole module for its default export.
import { Scrollbars } from './node_modules/react-custom-scrollbars-2/lib/index.js';

export { Scrollbars };
export default Scrollbars;
